import type { components } from "../../api/schema";

type Row = components["schemas"]["StatsRow"];

export interface Total {
  group: string;
  jobs: number;
  succeeded: number;
  failed: number;
  calls: number;
  failovers: number | null;
  input: number;
  output: number;
  cost: number | null;
  unpriced: number;
  p50: number | null;
  p95: number | null;
}

/** One row per group over all buckets, the dearest first; percentiles are the worst bucket's, as they cannot be added. */
export function totals(rows: readonly Row[]): Total[] {
  const groups = new Map<string, Total>();
  for (const row of rows) {
    const sum = groups.get(row.group) ?? { group: row.group, jobs: 0, succeeded: 0, failed: 0, calls: 0, failovers: null, input: 0, output: 0, cost: null, unpriced: 0, p50: null, p95: null };
    sum.jobs += row.jobs;
    sum.succeeded += row.succeeded ?? 0;
    sum.failed += row.failed ?? 0;
    sum.calls += row.calls ?? 0;
    sum.input += row.input_tokens ?? 0;
    sum.output += row.output_tokens ?? 0;
    sum.unpriced += row.unpriced ?? 0;
    if (typeof row.failovers === "number") sum.failovers = (sum.failovers ?? 0) + row.failovers;
    if (typeof row.cost_usd === "number") sum.cost = (sum.cost ?? 0) + row.cost_usd;
    sum.p50 = most(sum.p50, row.run_p50);
    sum.p95 = most(sum.p95, row.run_p95);
    groups.set(row.group, sum);
  }
  return [...groups.values()].sort((one, other) => (other.cost ?? 0) - (one.cost ?? 0) || other.jobs - one.jobs);
}

function most(one: number | null, other: number | null | undefined): number | null {
  if (other === null || other === undefined) return one;
  return one === null ? other : Math.max(one, other);
}

/** The share that succeeded, with Wilson's interval: few jobs prove little. */
export function interval({ succeeded, failed }: { succeeded: number; failed: number }): string {
  const n = succeeded + failed;
  if (n === 0) return "–";
  const [share, z] = [succeeded / n, 1.96];
  const middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / (1 + (z * z) / n);
  const percent = (value: number): string => `${Math.round(Math.max(0, Math.min(1, value)) * 100)}`;
  return `${percent(share)} % (${percent(middle - half)}–${percent(middle + half)}, ${n})`;
}
