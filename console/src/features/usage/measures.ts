import type { components } from "../../api/schema";

type Stats = components["schemas"]["Stats"];
type Row = components["schemas"]["StatsRow"];

export const MEASURES = ["cost", "tokens", "calls", "jobs"] as const;
export type Measure = (typeof MEASURES)[number];

const STEP_MS: Readonly<Record<string, number>> = { hour: 3_600_000, day: 86_400_000 };

/** A point per hour or day of the whole time, those without anything too: a gap is a zero and not a shorter way. */
export function pointsOf(stats: Pick<Stats, "bucket" | "since" | "until" | "items">, of: string | undefined, measure: Measure): { at: string; value: number }[] {
  const sums = new Map<number, number>();
  const step = STEP_MS[stats.bucket] ?? STEP_MS.day!;
  for (let at = Math.floor(Date.parse(stats.since) / step) * step; at < Date.parse(stats.until); at += step) sums.set(at, 0);
  for (const row of stats.items) {
    const at = Date.parse(row.at);
    if (of === undefined || row.group === of) sums.set(at, (sums.get(at) ?? 0) + valueOf(row, measure));
  }
  return [...sums].sort(([one], [other]) => one - other).map(([at, value]) => ({ at: new Date(at).toISOString(), value }));
}

function valueOf(row: Row, measure: Measure): number {
  if (measure === "cost") return row.cost_usd ?? 0;
  if (measure === "tokens") return row.input_tokens + row.output_tokens;
  return row[measure];
}
