import type { components } from "../../api/schema";
import { count } from "./numbers";

type Row = components["schemas"]["StatsRow"];
type Ended = Pick<Row, "succeeded" | "failed">;

/** "2.5 / 2 (12)": mean and median of the turns, and of how many jobs. */
export function turns({ turns_mean, turns_p50, turns_jobs }: Pick<Row, "turns_mean" | "turns_p50" | "turns_jobs">): string {
  if (turns_mean == null || turns_p50 == null) return "–";
  const plain = (value: number): string => String(Math.round(value * 10) / 10);
  return `${plain(turns_mean)} / ${plain(turns_p50)} (${count(turns_jobs)})`;
}

/** The share that succeeded, with Wilson's 95% interval: few jobs prove little. Null where none has ended. */
export function wilson({ succeeded, failed }: Ended): { share: number; low: number; high: number; n: number } | null {
  const n = (succeeded ?? 0) + (failed ?? 0);
  if (n === 0) return null;
  const [share, z] = [(succeeded ?? 0) / n, 1.96];
  const middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / (1 + (z * z) / n);
  return { share, low: Math.max(0, middle - half), high: Math.min(1, middle + half), n };
}

/** The same in words: "85 % (64–95, 20)". */
export function interval(row: Ended): string {
  const told = wilson(row);
  if (told === null) return "–";
  const [share, low, high] = [told.share, told.low, told.high].map((value) => Math.round(value * 100));
  return `${share} % (${low}–${high}, ${count(told.n)})`;
}

/** The share that succeeded; null where none has ended. */
export function successShare(row: Ended): number | null {
  return wilson(row)?.share ?? null;
}
