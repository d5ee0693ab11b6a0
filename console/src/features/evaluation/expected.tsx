import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { useJob } from "../../api/queries";
import type { Evaluation, Job, TransformResult } from "../../api/types";
import { CellDiff } from "../../results/differences";
import { ResultView } from "../../results";
import { headOf } from "../../shared/tables/csv";
import { JsonTree } from "../../shared/json/json";
import { Loaded } from "../../shared/page/loading-states";
import type { Side } from "../../shared/tables/table-diff";

type Case = NonNullable<Evaluation["suite"]>["cases"][number];

/** What the case expects, next to what the run gave; a table cell by cell. */
export function Expected({ evaluationId, caseName, jobId }: { evaluationId: string; caseName: string; jobId: string }) {
  const suite = useQuery({
    queryKey: ["evaluation-suite", evaluationId],
    queryFn: () => get<Evaluation>(`/v1/evaluations/${evaluationId}`, { suite: true }).then((evaluation) => evaluation.suite?.cases ?? []),
    staleTime: Infinity,
  });
  const job = useJob(jobId);
  return (
    <Loaded query={suite}>
      {(cases) => {
        const wanted = cases.find((each) => each.name === caseName);
        return wanted === undefined ? null : <Loaded query={job}>{(there) => <Both wanted={wanted} job={there} />}</Loaded>;
      }}
    </Loaded>
  );
}

function Both({ wanted, job }: { wanted: Case; job: Job }) {
  const expected = tableOf(wanted);
  const got = (job.result as TransformResult | null)?.table;
  return (
    <>
      {expected !== null && got ? <CellDiff title="Expected and actual result" before={expected} after={{ columns: got.columns, rows: got.rows as unknown[][] }} /> : null}
      <div className="cols even">
        <section className="panel tight" aria-label="Expected">
          <h3>Expected</h3>
          <JsonTree value={wanted.expect ?? {}} label="expect" />
        </section>
        <section className="panel tight" aria-label="Actual">
          <h3>Actual</h3>
          {job.result ? <ResultView job={job} /> : <JsonTree value={job.error ?? null} label="error" />}
        </section>
      </div>
    </>
  );
}

const MAX_ROWS = 1000;

/** The expected table; cells of CSV that look like numbers are numbers, as the comparison on the server has them. */
function tableOf({ expect }: Case): Side | null {
  const table = expect?.table;
  if (table?.rows) {
    const names = [...new Set(table.rows.flatMap((row) => Object.keys(row)))];
    return { columns: names.map((name) => ({ name })), rows: table.rows.map((row) => names.map((name) => row[name] ?? null)) };
  }
  const head = table?.csv ? headOf(table.csv, MAX_ROWS) : null;
  if (head === null) return null;
  return { columns: head.columns.map((name) => ({ name })), rows: head.rows.map((row) => row.map((value) => (/^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value === "" ? null : value))) };
}
