import type { components } from "../../api/schema";
import { safeCell } from "../../shared/tables/csv";
import { cost, count } from "../../shared/values/numbers";
import type { SortValue } from "../../shared/tables/sorting";
import { interval, successShare, turns } from "../../shared/values/job-sums";
import { took } from "../../shared/values/time";

type Row = components["schemas"]["StatsRow"];

interface Column {
  title: string;
  hint?: string;
  text: (row: Row) => string;
  by: (row: Row) => SortValue;
}

export const COLUMNS: readonly Column[] = [
  { title: "Jobs", text: (row) => count(row.jobs), by: (row) => row.jobs },
  { title: "Completed (95 %, n)", hint: "Of the jobs that ended, the share that gave a result, right or wrong; Wilson's interval, and how many they are", text: (row) => interval(row), by: (row) => successShare(row) },
  { title: "Attempts to a result", hint: "Mean / median, of jobs that succeeded, that called models, and that began and ended in this time", text: (row) => turns(row), by: (row) => row.turns_mean },
  { title: "Calls", text: (row) => count(row.calls), by: (row) => row.calls },
  { title: "Errors", hint: "Calls that brought no answer", text: (row) => count(row.errors), by: (row) => row.errors },
  { title: "Failovers", hint: "Answers in place of another model", text: (row) => count(row.failovers), by: (row) => row.failovers },
  { title: "Tokens in", text: (row) => count(row.input_tokens), by: (row) => row.input_tokens },
  { title: "Tokens out", text: (row) => count(row.output_tokens), by: (row) => row.output_tokens },
  { title: "Cost", text: (row) => cost(row.cost_usd), by: (row) => row.cost_usd },
  { title: "Calls without price", hint: "Calls to models whose price is not known: they are not in the cost", text: (row) => count(row.unpriced), by: (row) => row.unpriced },
  { title: "p50", hint: "Half took no longer", text: (row) => took(row.run_p50), by: (row) => row.run_p50 },
  { title: "p95", hint: "Of twenty, nineteen took no longer", text: (row) => took(row.run_p95), by: (row) => row.run_p95 },
];

/** What a file has: every number as the API returns it, so that nothing is rounded away. */
const EXPORTED = [
  "at", "group", "jobs", "succeeded", "failed", "turns_p50", "turns_mean", "turns_jobs", "calls", "errors", "failovers",
  "input_tokens", "output_tokens", "cost_usd", "unpriced", "wait_p50", "wait_p95", "run_p50", "run_p95",
] as const;

export function csvOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => EXPORTED.map((name) => safeCell(String(row[name] ?? ""))).join(","));
  return [EXPORTED.join(","), ...lines].join("\n");
}

/** The dearest first, then who has the most calls and jobs. */
export function dearest(rows: readonly Row[]): Row[] {
  return [...rows].sort((one, other) => (other.cost_usd ?? 0) - (one.cost_usd ?? 0) || other.calls - one.calls || other.jobs - one.jobs);
}

/** The newest first, and of one moment the dearest. */
export function newest(rows: readonly Row[]): Row[] {
  return dearest(rows).sort((one, other) => other.at.localeCompare(one.at));
}

/** The filter of the list of jobs that leaves those of a group; null where it has none. */
export function jobsOf(by: string, group: string): Record<string, string> | null {
  if (group === "") return null;
  if (by === "kind" || by === "state" || by === "outcome" || by === "provider" || by === "prompt") return { [by]: group };
  const [provider, ...model] = group.split("/");
  return by === "model" && model.length > 0 ? { provider: provider!, model: model.join("/") } : null;
}
