import type { components } from "../../api/schema";

type Row = components["schemas"]["StatsRow"];

export interface Sums {
  jobs: number;
  succeeded: number;
  failed: number;
  calls: number;
  errors: number;
  tokens: number;
  unpriced: number;
  /** Null where no call has a known price. */
  cost: number | null;
  /** Seconds; null where no job ended. */
  p95: number | null;
}

/** Rows by job type added up; the p95 is that of the slowest type, as percentiles have no sum. */
export function sumsOf(rows: readonly Row[]): Sums {
  const sum = (of: (row: Row) => number | null | undefined): number => rows.reduce((total, row) => total + (of(row) ?? 0), 0);
  const slowest = rows.map((row) => row.run_p95 ?? 0);
  return {
    jobs: sum((row) => row.jobs),
    succeeded: sum((row) => row.succeeded),
    failed: sum((row) => row.failed),
    calls: sum((row) => row.calls),
    errors: sum((row) => row.errors),
    tokens: sum((row) => row.input_tokens + row.output_tokens),
    unpriced: sum((row) => row.unpriced),
    cost: rows.some((row) => row.cost_usd != null) ? sum((row) => row.cost_usd) : null,
    p95: slowest.some((seconds) => seconds > 0) ? Math.max(...slowest) : null,
  };
}

/** "+8.1% vs. the 7 days before" */
export function changeWords(now: number | null, before: number | null, days: number): string {
  const period = days === 1 ? "day" : `${days} days`;
  if (now === null || before === null || before === 0) return `none in the ${period} before`;
  const share = (100 * (now - before)) / before;
  return `${share < 0 ? "−" : "+"}${Math.abs(share).toFixed(1)}% vs. the ${period} before`;
}
