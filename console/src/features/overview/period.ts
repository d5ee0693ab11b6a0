import type { components } from "../../api/schema";
import type { Job } from "../../api/types";
import { stateOf } from "../../shared/values/states";

type Row = components["schemas"]["StatsRow"];

/** The periods to choose from, each with the buckets of its chart. */
export const PERIODS = {
  "1h": { name: "1 h", words: "1 hour", bucket: "minute", step: 60_000, buckets: 60, title: "Jobs per minute" },
  "24h": { name: "24 h", words: "24 hours", bucket: "hour", step: 3_600_000, buckets: 24, title: "Jobs per hour" },
  "7d": { name: "7 d", words: "7 days", bucket: "day", step: 86_400_000, buckets: 7, title: "Jobs per day" },
  "30d": { name: "30 d", words: "30 days", bucket: "day", step: 86_400_000, buckets: 30, title: "Jobs per day" },
} as const;

export type PeriodName = keyof typeof PERIODS;
export type Period = (typeof PERIODS)[PeriodName];

export function periodOf(name: string | undefined): PeriodName {
  return name !== undefined && name in PERIODS ? (name as PeriodName) : "24h";
}

/** Start of the first bucket: a period ends with the bucket that is now. */
export function startOf({ step, buckets }: Period, now: number): number {
  return Math.floor(now / step) * step - (buckets - 1) * step;
}

export interface BarOfTime {
  at: number;
  done: number;
  open: number;
  failed: number;
}

/**
 * Jobs of each bucket by outcome. The server counts what a job came to; of the newest jobs their results are known too, and a job
 * whose code failed or whose result is not verified is not counted as done.
 */
export function barsOf(period: Period, rows: readonly Row[], newest: readonly Job[], now: number): BarOfTime[] {
  const start = startOf(period, now);
  const bars = Array.from({ length: period.buckets }, (_, place) => ({ at: start + place * period.step, done: 0, open: 0, failed: 0 }));
  const barAt = (at: string): BarOfTime | undefined => bars[Math.floor((Date.parse(at) - start) / period.step)];
  for (const row of rows) {
    const bar = barAt(row.at);
    if (bar === undefined) continue;
    bar.failed += row.failed ?? 0;
    bar.done += Math.max(0, (row.jobs ?? 0) - (row.failed ?? 0));
  }
  for (const job of newest) {
    const bar = barAt(job.created_at);
    const { tone } = stateOf(job);
    if (job.state !== "succeeded" || bar === undefined || bar.done === 0 || (tone !== "bad" && tone !== "warn")) continue;
    bar.done -= 1;
    if (tone === "bad") bar.failed += 1;
    else bar.open += 1;
  }
  return bars;
}

export interface Reason {
  word: string;
  code: string;
  jobs: number;
  latest: Job;
}

/** Why jobs failed, the most frequent first: the error's code, or what its result says. */
export function reasonsOf(jobs: readonly Job[]): Reason[] {
  const reasons = new Map<string, Reason>();
  for (const job of jobs) {
    const state = stateOf(job);
    if (state.tone !== "bad") continue;
    const code = job.error?.code ?? job.verdict ?? job.state;
    const known = reasons.get(code);
    if (known === undefined) reasons.set(code, { word: job.error?.title ?? state.word, code, jobs: 1, latest: job });
    else {
      known.jobs += 1;
      if (job.created_at > known.latest.created_at) known.latest = job;
    }
  }
  return [...reasons.values()].sort((one, other) => other.jobs - one.jobs);
}
