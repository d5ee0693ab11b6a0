import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { get } from "../../api/client";
import { useJob } from "../../api/queries";
import type { Evaluation, EvaluationCell, EvaluationRun, Page } from "../../api/types";
import { Differences } from "../../results/differences";
import { visible } from "../../shared/code/ansi";
import { count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { Success } from "../../shared/values/success";
import { took } from "../../shared/values/time";
import { useUrl } from "../../shared/page/url";
import { cellAt } from "./cell-selection";
import { Expected } from "./expected";
import { SortedTable } from "../../shared/tables/sorted-table";
import { StateMark } from "../../shared/values/marks";

/** The runs of the chosen cells; with two, what differs between a run of each. */
export function SelectedCells({ evaluation }: { evaluation: Evaluation }) {
  const [url] = useUrl();
  const [one, other] = [cellAt(evaluation, url.a), cellAt(evaluation, url.b)];
  const runsOfA = useRuns(evaluation, one);
  const runsOfB = useRuns(evaluation, other);
  const shown = useRef<HTMLElement>(null);
  useEffect(() => {
    if (url.a !== undefined) shown.current?.scrollIntoView({ block: "nearest" });
  }, [url.a, url.b]);
  if (one === undefined) return null;
  const [a, b] = [chosenRun(runsOfA.data, url.ra), chosenRun(runsOfB.data, url.rb)];
  return (
    <section ref={shown} className="stack" aria-label="Selected cells">
      <div className="cols even">
        <CellRuns name="a" cell={one} runs={runsOfA} chosen={a} />
        {other === undefined ? null : <CellRuns name="b" cell={other} runs={runsOfB} chosen={b} />}
      </div>
      {other === undefined && a?.job_id ? <Expected evaluationId={evaluation.id} caseName={one.case} jobId={a.job_id} /> : null}
      {a?.job_id && b?.job_id ? <TwoJobs a={a.job_id} b={b.job_id} /> : null}
    </section>
  );
}

function useRuns(evaluation: Evaluation, cell: EvaluationCell | undefined) {
  return useQuery({
    queryKey: ["evaluation-runs", evaluation.id, cell?.case, cell?.variant, cell?.runs],
    queryFn: () => get<Page<EvaluationRun>>(`/v1/evaluations/${evaluation.id}/runs`, { case: cell!.case, variant: cell!.variant }).then((page) => page.items),
    enabled: cell !== undefined,
    placeholderData: (before) => (before?.[0]?.case === cell?.case && before?.[0]?.variant === cell?.variant ? before : undefined),
  });
}

/** The run that the address names; else the first that failed, which is why one looks; else the first. */
function chosenRun(runs: readonly EvaluationRun[] | undefined, repetition: string | undefined): EvaluationRun | undefined {
  const withJob = (runs ?? []).filter((run) => run.job_id !== null);
  return withJob.find((run) => String(run.repetition) === repetition) ?? withJob.find((run) => run.success === false) ?? withJob[0];
}

function CellRuns({ name, cell, runs, chosen }: { name: "a" | "b"; cell: EvaluationCell; runs: ReturnType<typeof useRuns>; chosen: EvaluationRun | undefined }) {
  const [, change] = useUrl();
  return (
    <section className="stack" aria-label={`Cell ${name}`}>
      <h2>
        {name.toUpperCase()}: {visible(cell.case)}, {visible(cell.variant)}
      </h2>
      <Success of={cell} />
      <Loaded query={runs} rows={2}>
        {(items) => (
          <SortedTable
            id={`runs-${name}`}
            label={`Runs of ${name}`}
            look="wide wrap"
            columns={[
              "",
              "Outcome",
              { name: "Attempts", num: true, by: (run) => run.turns },
              { name: "Tokens", num: true, by: (run) => run.tokens },
              { name: "Duration", num: true, by: (run) => run.seconds },
              "",
            ]}
            items={items}
            row={(run) => (
              <tr key={run.repetition} aria-selected={chosen?.repetition === run.repetition}>
                <td className="actions">
                  <input type="radio" className="pick" name={`run-${name}`} aria-label={`Show run ${run.repetition + 1}`} checked={chosen?.repetition === run.repetition} disabled={run.job_id === null} onChange={() => change({ [`r${name}`]: String(run.repetition) })} />
                </td>
                <td>
                  <Outcome run={run} />
                </td>
                <td className="num">{count(run.turns)}</td>
                <td className="num">{count(run.tokens)}</td>
                <td className="num">{took(run.seconds)}</td>
                <td className="actions fixed">
                  {run.job_id === null ? null : (
                    <Link to="/jobs/$id" params={{ id: run.job_id }} className="plain">
                      Open job
                    </Link>
                  )}
                </td>
              </tr>
            )}
          />
        )}
      </Loaded>
    </section>
  );
}

function Outcome({ run }: { run: EvaluationRun }) {
  if (run.success === null) return <span className="muted">{run.state}</span>;
  if (run.success) return <StateMark of={{ word: "Passed", icon: "tick", tone: "good" }} />;
  return (
    <>
      <StateMark of={{ word: (run.cause ?? "failed").replaceAll("_", " "), icon: "times", tone: "bad" }} />
      {run.detail ? <span className="sub">{visible(run.detail)}</span> : null}
    </>
  );
}

function TwoJobs({ a, b }: { a: string; b: string }) {
  const [one, other] = [useJob(a), useJob(b)];
  return (
    <section className="stack" aria-label="Differences of the two cells">
      <Loaded query={one}>{(left) => <Loaded query={other}>{(right) => <Differences left={left} right={right} />}</Loaded>}</Loaded>
    </section>
  );
}
