import type { Query } from "../../api/client";
import { jobsPage } from "../../api/queries";
import type { Job, JobPage } from "../../api/types";
import { safeCell } from "../../shared/tables/csv";

/** An export ends here, so that neither the browser nor the server holds a list without an end. */
export const MAX_JOBS = 20_000;
/** Of a filter that few jobs fit, pages may be empty; this is the size of a page. */
export const MAX_PAGES = 500;

export interface Everything {
  jobs: readonly Job[];
  /** Whether older jobs were left out. */
  cut: boolean;
}

/** All jobs that the list shows for this filter, the newest first, page by page. */
export async function everything(filter: Query, signal: AbortSignal, onProgress: (jobs: number) => void, ask: (query: Query, signal: AbortSignal) => Promise<JobPage> = jobsPage): Promise<Everything> {
  const jobs: Job[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < MAX_PAGES && jobs.length < MAX_JOBS; pages += 1) {
    const page = await ask({ ...filter, limit: 200, cursor }, signal);
    signal.throwIfAborted();
    jobs.push(...page.items);
    onProgress(Math.min(jobs.length, MAX_JOBS));
    cursor = page.next_cursor ?? null;
    if (cursor === null) break;
  }
  return { jobs: jobs.slice(0, MAX_JOBS), cut: cursor !== null || jobs.length > MAX_JOBS };
}

const NAMES = ["id", "kind", "state", "title", "created_at", "started_at", "finished_at", "verdict", "turns"] as const;

/** One line for each job, with no cell that a spreadsheet takes for a formula. */
export function csvOf(jobs: readonly Job[]): string {
  return [NAMES.join(","), ...jobs.map((job) => NAMES.map((name) => safeCell(String(job[name] ?? ""))).join(","))].join("\n");
}
