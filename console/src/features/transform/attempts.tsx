import { Tabs } from "@mantine/core";
import type { Iteration, Job, TransformResult } from "../../api/types";
import { AttemptTable } from "../../results/attempt-table";
import { EffectView } from "../../results/effect";
import { verdictOfAttempt, VERDICTS } from "../../results/attempt-verdict";
import { AttemptView } from "../../results/transform";
import { useUrl } from "../../shared/page/url";
import { NextTask } from "./next-task";
import { useInputTable } from "./input-table";

interface Props {
  job: Job;
  attempts: readonly Iteration[];
  /** Continues from what an attempt gave. */
  onBranch: (task: string, iteration: number) => void;
}

/** The attempts as tabs, the last one open until another is chosen; each with code, table, effect and marks of the assertions. */
export function Attempts({ job, attempts, onBranch }: Props) {
  const [url, change] = useUrl();
  const input = useInputTable(job);
  if (attempts.length === 0) return <p className="muted">No attempt yet.</p>;
  const place = attempts.findIndex((attempt) => String(attempt.number) === url.attempt);
  const index = place < 0 ? attempts.length - 1 : place;
  const attempt = attempts[index]!;
  const result = job.result as unknown as TransformResult | null;
  // That of the result is shown with the result.
  const hasOwnEffect = attempt.effect !== null && JSON.stringify(attempt.effect) !== JSON.stringify(result?.effect);
  return (
    <Tabs value={String(attempt.number)} onChange={(value) => change({ attempt: value })}>
      <Tabs.List aria-label="Attempts">
        {attempts.map((each) => (
          <Tabs.Tab key={each.number} value={String(each.number)}>
            {VERDICTS[verdictOfAttempt(each)].sign} Attempt {each.number}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {attempts.map((each, which) => (
        <Tabs.Panel key={each.number} value={String(each.number)} pt={12}>
          {which === index ? (
            <AttemptView attempts={attempts} index={index} whole>
              <AttemptTable attempts={attempts} index={index} input={input} />
              {attempt.effect && hasOwnEffect ? <EffectView effect={attempt.effect} of={{ inputs: result?.inputs ?? [], table: attempt.table ?? null }} /> : null}
              {attempt.table && result ? (
                <details>
                  <summary>Branch from this attempt</summary>
                  <NextTask label={`What to do with what attempt ${attempt.number} gave`} button="Branch" onAsk={(task) => onBranch(task, attempt.number)} />
                </details>
              ) : null}
            </AttemptView>
          ) : null}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
