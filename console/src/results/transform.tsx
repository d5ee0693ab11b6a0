import type { ReactNode } from "react";
import type { Iteration, Job, JobEvent, TransformResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Code, Diff } from "../shared/code/code";
import { ATTEMPT_STATES } from "../shared/values/states";
import { StateMark } from "../shared/values/marks";
import { count } from "../shared/values/numbers";
import { DataTable } from "../shared/tables/table";
import { took } from "../shared/values/time";
import { verdictOfAttempt } from "./attempt-verdict";
import { AssertionMarks } from "./effect";
import { Unverified } from "./unverified";

/** The repair strip: each attempt as what it changed of the one before, under the error that caused the change. */
export function RepairStrip({ attempts, chosen = null, below }: { attempts: readonly Iteration[]; chosen?: number | null; below?: (attempt: Iteration) => ReactNode }) {
  if (attempts.length === 0) return <p className="muted">No attempt yet.</p>;
  return (
    <div className="stack">
      {attempts.map((attempt, index) => (
        <AttemptView key={attempt.number} attempts={attempts} index={index} chosen={attempt.number === chosen}>
          {attempt.table ? (
            <details>
              <summary>
                Table <span className="muted">{count(attempt.table.row_count)} rows</span>
              </summary>
              <DataTable label={`What attempt ${attempt.number} came to`} columns={attempt.table.columns} rows={attempt.table.rows as unknown[][]} total={attempt.table.row_count} />
            </details>
          ) : null}
          {below?.(attempt)}
        </AttemptView>
      ))}
    </div>
  );
}

interface AttemptProps {
  attempts: readonly Iteration[];
  index: number;
  whole?: boolean;
  /** The turn in the address. */
  chosen?: boolean;
  children?: ReactNode;
}

/** One attempt: what it changed of the code before, its outcome, how the assertions held. `whole`: it is shown alone, so nothing of it is elsewhere. */
export function AttemptView({ attempts, index, whole = false, chosen = false, children }: AttemptProps) {
  const attempt = attempts[index]!;
  const verdict = verdictOfAttempt(attempt);
  const before = attempts[index - 1];
  const failed = before !== undefined && before.outcome !== "result";
  const toldBelow = !whole && index + 1 < attempts.length && attempt.outcome !== "result";
  return (
    <section className="panel stack" aria-label={`Attempt ${attempt.number}`} data-attempt={attempt.number} data-chosen={chosen}>
      <div className="bar">
        <b>Attempt {attempt.number}</b>
        <StateMark of={ATTEMPT_STATES[verdict === "unverified" ? verdict : attempt.outcome]} />
        <span className="muted">{took(attempt.seconds)}</span>
      </div>
      {failed ? (
        <div className="callout bad">
          <b>Attempt {before.number} failed with</b>
          <pre className="mono wrapped">{visible(before.message)}</pre>
        </div>
      ) : null}
      {attempt.code === "" ? null : before === undefined || before.code === "" ? (
        <Code text={attempt.code} marked={lineOfError(attempt)} />
      ) : (
        <Diff before={before.code} after={attempt.code} marked={lineOfError(before)} same={`Same code as attempt ${before.number}.`} />
      )}
      <pre className={`mono wrapped ${attempt.outcome === "result" ? "muted" : "bad"}`}>{visible(toldBelow ? attempt.message.split("\n")[0]! : attempt.message)}</pre>
      {verdict === "unverified" ? <Unverified words="Not verified because:" reasons={attempt.unverified_because ?? []} /> : null}
      <AssertionMarks checks={attempt.assertions ?? []} />
      {children}
    </section>
  );
}

/** The line of the code that the error names. */
function lineOfError(attempt: Iteration): number[] {
  const match = [...attempt.message.matchAll(/line (\d+)/g)].at(-1);
  return attempt.outcome === "result" || match === undefined ? [] : [Number(match[1])];
}

/** The attempts that there are: of the result, of the error of a job that failed, or of the events while it runs. */
export function attemptsOf(job: Job, events: readonly JobEvent[]): Iteration[] {
  const done = (job.result as TransformResult | null)?.iterations ?? (job.error as { iterations?: Iteration[] } | null)?.iterations;
  if (done !== undefined) return done;
  return events
    .filter((event) => event.type === "turn_taken")
    .map((event) => {
      const outcome = event.outcome as Partial<Iteration> | null;
      const proposal = event.proposal as { code?: string } | null;
      return {
        number: Number(event.number),
        code: proposal?.code ?? "",
        outcome: (outcome?.outcome ?? "error") as Iteration["outcome"],
        message: outcome?.message ?? "",
        seconds: outcome?.seconds ?? 0,
        effect: outcome?.effect ?? null,
        table: outcome?.table ?? null,
        assertions: outcome?.assertions ?? [],
        repaired: outcome?.repaired ?? [],
        unverified_because: outcome?.unverified_because ?? [],
      };
    })
    .filter((attempt) => attempt.code !== "");
}
