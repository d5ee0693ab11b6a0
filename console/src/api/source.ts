import { get, send } from "./client";
import { framesOf, type Frame } from "./frames";
import { ALL_JOBS, FROM_NOW, type News } from "./news";
import type { Job, JobEvent } from "./types";

/** Where news of a topic come from: a stream of them, or those that there are. Both raise: Problem. */
export interface Source {
  stream: (topic: string, after: number, signal: AbortSignal, opened: () => void) => AsyncIterable<readonly News[]>;
  page: (topic: string, after: number, signal?: AbortSignal) => Promise<{ items: readonly News[]; more: boolean }>;
}

const MAX_EVENTS = 1000;
// What was before now is in the list, which is read again then.
const RESET: readonly News[] = [{ id: FROM_NOW, reset: true }];

export const SERVER: Source = { stream, page };

async function* stream(topic: string, after: number, signal: AbortSignal, opened: () => void): AsyncGenerator<readonly News[]> {
  const headers = { Accept: "text/event-stream", ...(after === FROM_NOW ? {} : { "Last-Event-ID": String(after) }) };
  const answer = await send("GET", pathOf(topic), { headers, signal });
  opened();
  if (after === FROM_NOW) yield RESET;
  for await (const frames of framesOf(answer)) yield frames.map((frame) => newsOf(topic, frame));
}

function newsOf(topic: string, frame: Frame): News {
  if (topic !== ALL_JOBS) return eventNews(JSON.parse(frame.data) as JobEvent);
  const id = Number(frame.id);
  return frame.event === "reset" ? { id, reset: true } : { id, job: JSON.parse(frame.data) as Job };
}

async function page(topic: string, after: number, signal?: AbortSignal): Promise<{ items: readonly News[]; more: boolean }> {
  if (after === FROM_NOW) return { items: RESET, more: false };
  if (topic !== ALL_JOBS) {
    const { items, next_after } = await get<{ items: JobEvent[]; next_after: number | null }>(pathOf(topic), { after, limit: MAX_EVENTS }, signal);
    return { items: items.map(eventNews), more: next_after !== null };
  }
  const { items, next_after: id, reset } = await get<{ items: Job[]; next_after: number; reset: boolean }>(pathOf(topic), { after }, signal);
  return { items: [...(reset ? [{ id, reset } as News] : []), ...items.map((job) => ({ id, job }))], more: false };
}

function eventNews(event: JobEvent): News {
  return { id: event.seq, event };
}

function pathOf(topic: string): string {
  return topic === ALL_JOBS ? "/v1/events" : `/v1/jobs/${encodeURIComponent(topic)}/events`;
}
