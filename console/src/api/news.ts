import { isEnd } from "./frames";
import type { Job, JobEvent } from "./types";

export type Liveness = "live" | "reconnecting" | "paused" | "ended";

/** The topic of all jobs of the tenant; any other topic is the id of a job. */
export const ALL_JOBS = "jobs";

/** One thing that happened, and its place in its stream. */
export type News = { id: number } & ({ event: JobEvent } | { job: Job } | { reset: true });

/** Of the list of all jobs, one that begins now rather than where it was. */
export const FROM_NOW = Infinity;

export function endsJob(news: News): boolean {
  return "event" in news && isEnd(news.event.type);
}
