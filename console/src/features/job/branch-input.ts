import type { Job, TransformResult } from "../../api/types";
import type { Planned } from "../../results/plans";

export interface Attempt {
  number: number;
  code?: string;
  outcome?: string;
  queries?: readonly object[];
}

/** What one says of the way on: the next task, or the code. */
export interface Start {
  task?: string;
  code?: string;
}

/** The input of a job that starts from an attempt of another. */
export function inputFrom(job: Job, attempt: Attempt, { task, code }: Start): Record<string, unknown> {
  const input = { ...(job.input ?? {}) };
  if (job.kind === "search") return { ...input, plan: (attempt.queries as readonly Planned[]).map(planned) };
  // What the job itself started from: another conversation has no last result.
  for (const name of ["branch", "base", "code", "expects", "on_drift"]) delete input[name];
  if (task !== undefined) return { ...input, task, branch: { job_id: job.id, iteration: attempt.number } };
  return { ...input, data: dataOf(job), code };
}

function planned({ table, search_mode, query_text, limit, score_threshold, filters }: Planned): Planned {
  return { table, search_mode, query_text, limit, score_threshold, filters };
}

/** The data that the code saw: in a follow-up the first data set was the result before. */
function dataOf(job: Job): unknown[] {
  const data = (job.input as { data?: { name: string }[] } | null)?.data ?? [];
  const result = (job.result ?? null) as TransformResult | null;
  const saved = result?.continues ? result.inputs?.[0]?.file_id : null;
  return saved && data[0] !== undefined ? [{ name: data[0].name, file_id: saved }, ...data.slice(1)] : data;
}
