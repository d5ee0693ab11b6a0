import type { components } from "../../api/schema";
import type { Point } from "../../shared/values/sparkline";
import { took } from "../../shared/values/time";

type Row = components["schemas"]["StatsRow"];

export const MINUTES = 60;

/** A point for each minute of the last hour: calls, those without an answer, and the median of the answers' time. */
export function minutesOf(rows: readonly Row[], group: string, now: number): Point[] {
  const last = Math.floor(now / 60_000);
  const by = new Map(rows.filter((row) => row.group === group).map((row) => [last - Math.floor(Date.parse(row.at) / 60_000), row]));
  return Array.from({ length: MINUTES }, (_, place) => {
    const ago = MINUTES - 1 - place;
    const row = by.get(ago);
    return { value: row?.calls ?? 0, bad: row?.errors ?? 0, told: `${ago} min ago: ${row?.calls ?? 0} calls, ${row?.errors ?? 0} errors, p50 ${took(row?.run_p50)}` };
  });
}
