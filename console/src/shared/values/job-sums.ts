import type { components } from "../../api/schema";
import { count } from "./numbers";

type Row = components["schemas"]["StatsRow"];

/** "2.5 / 2 (12)": mean and median of the turns, and of how many jobs. */
export function turns({ turns_mean, turns_p50, turns_jobs }: Pick<Row, "turns_mean" | "turns_p50" | "turns_jobs">): string {
  if (turns_mean == null || turns_p50 == null) return "–";
  const plain = (value: number): string => String(Math.round(value * 10) / 10);
  return `${plain(turns_mean)} / ${plain(turns_p50)} (${count(turns_jobs)})`;
}

/** The share that succeeded, with Wilson's interval: few jobs prove little. */
export function interval({ succeeded, failed }: Pick<Row, "succeeded" | "failed">): string {
  const n = (succeeded ?? 0) + (failed ?? 0);
  if (n === 0) return "–";
  const [share, z] = [(succeeded ?? 0) / n, 1.96];
  const middle = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))) / (1 + (z * z) / n);
  const percent = (value: number): string => `${Math.round(Math.max(0, Math.min(1, value)) * 100)}`;
  return `${percent(share)} % (${percent(middle - half)}–${percent(middle + half)}, ${count(n)})`;
}

/** The share that succeeded; null where none has ended. */
export function successShare({ succeeded, failed }: Pick<Row, "succeeded" | "failed">): number | null {
  const ended = (succeeded ?? 0) + (failed ?? 0);
  return ended === 0 ? null : (succeeded ?? 0) / ended;
}
