import type { components } from "../../api/schema";
import type { Job } from "../../api/types";
import { groupOf, outcomeOf, outcomeState, type OutcomeGroup } from "../../shared/values/states";

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

export function hoursOf({ step, buckets }: Period): number {
  return (step * buckets) / 3_600_000;
}

export interface BarOfTime {
  at: number;
  done: number;
  open: number;
  failed: number;
  /** Queued, running, canceled, or waiting for an answer. */
  other: number;
  /** Jobs by the reason of their failure. */
  reasons: ReadonlyMap<string, number>;
}

const PART = { Done: "done", Unverified: "open", Failed: "failed", Active: "other", Canceled: "other", "Needs an answer": "other" } as const satisfies Record<OutcomeGroup, string>;

/** Jobs of each bucket by outcome; a job whose code failed or whose result is not verified is not done. */
export function barsOf(period: Period, rows: readonly Row[], now: number): BarOfTime[] {
  const start = startOf(period, now);
  const bars = Array.from({ length: period.buckets }, (_, place) => ({ at: start + place * period.step, done: 0, open: 0, failed: 0, other: 0, reasons: new Map<string, number>() }));
  for (const row of rows) {
    const bar = bars[Math.floor((Date.parse(row.at) - start) / period.step)];
    if (bar === undefined) continue;
    const part = PART[groupOf(row.group, (row.failed ?? 0) > 0)];
    bar[part] += row.jobs;
    if (part === "failed") bar.reasons.set(row.group, (bar.reasons.get(row.group) ?? 0) + row.jobs);
  }
  return bars;
}

export interface Reason {
  word: string;
  code: string;
  jobs: number;
  cost: number | null;
  /** Of the jobs that were read; absent where all of this reason are older. */
  latest: Job | null;
}

/** Why jobs failed, the most frequent first: the error's code, or what its result says. */
export function reasonsOf(rows: readonly Row[], jobs: readonly Job[]): Reason[] {
  const failed = rows.filter((row) => groupOf(row.group, (row.failed ?? 0) > 0) === "Failed");
  return failed
    .map((row) => {
      const latest = jobs.filter((job) => outcomeOf(job) === row.group).sort((one, other) => other.created_at.localeCompare(one.created_at))[0] ?? null;
      return { word: latest?.error?.title ?? outcomeState(row.group, (row.failed ?? 0) > 0).word, code: row.group, jobs: row.jobs, cost: row.cost_usd ?? null, latest };
    })
    .sort((one, other) => other.jobs - one.jobs);
}

/** "2 providers failed, 1 timed out" */
export function reasonWords(reasons: ReadonlyMap<string, number>): string {
  return [...reasons]
    .sort(([, one], [, other]) => other - one)
    .map(([code, jobs]) => `${jobs} ${outcomeState(code, true).word.toLowerCase()}`)
    .join(", ");
}
