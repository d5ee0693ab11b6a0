import { useEffect, useState } from "react";
import { get, send } from "./client";
import type { JobEvent } from "./types";

export type Liveness = "live" | "reconnecting" | "paused" | "ended";

// A browser keeps six connections to a server, all tabs together: so many tabs stream, the others ask for pages.
const STREAMS = 3;
const POLL_MS = 2000;
const RETRY_MS = 1000;

/** All events of a job so far, in order, and whether more will come by themselves. Hidden tabs let their stream go. */
export function useJobEvents(jobId: string | undefined): { events: readonly JobEvent[]; liveness: Liveness } {
  const [events, setEvents] = useState<readonly JobEvent[]>([]);
  const [liveness, setLiveness] = useState<Liveness>("live");
  const visible = useVisible();
  useEffect(() => {
    setEvents([]);
  }, [jobId]);
  useEffect(() => {
    if (jobId === undefined) return undefined;
    if (!visible) {
      setLiveness((now) => (now === "ended" ? now : "paused"));
      return undefined;
    }
    const stop = new AbortController();
    void follow(jobId, stop.signal, setEvents, setLiveness);
    return () => stop.abort();
  }, [jobId, visible]);
  return { events, liveness };
}

type SetEvents = (change: (now: readonly JobEvent[]) => readonly JobEvent[]) => void;

async function follow(jobId: string, signal: AbortSignal, add: SetEvents, tell: (state: Liveness) => void): Promise<void> {
  let last = 0;
  const take = (batch: readonly JobEvent[]): boolean => {
    const fresh = batch.filter((event) => event.seq > last);
    if (fresh.length > 0) {
      last = fresh[fresh.length - 1]!.seq;
      add((now) => [...now.filter((event) => event.seq < fresh[0]!.seq && event.job_id === jobId), ...fresh]);
    }
    return fresh.some((event) => isEnd(event.type));
  };
  while (!signal.aborted) {
    try {
      const ended = await withSlot(signal, (own) => (own ? read(jobId, last, signal, take, tell) : poll(jobId, last, signal, take, tell)));
      if (ended) {
        tell("ended");
        return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Error && "status" in error && (error.status === 404 || error.status === 401)) return;
      tell("reconnecting");
      await pause(RETRY_MS, signal);
    }
  }
}

type Take = (batch: readonly JobEvent[]) => boolean;

/** Streams until the end or until the connection breaks. */
async function read(jobId: string, after: number, signal: AbortSignal, take: Take, tell: (state: Liveness) => void): Promise<boolean> {
  const headers = { Accept: "text/event-stream", "Last-Event-ID": String(after) };
  const answer = await send("GET", `/v1/jobs/${jobId}/events`, { headers, signal });
  tell("live");
  return readStream(answer, take);
}

/** The next page of events, and a pause when it is the last for now. */
async function poll(jobId: string, after: number, signal: AbortSignal, take: Take, tell: (state: Liveness) => void): Promise<boolean> {
  const page = await get<{ items: JobEvent[]; next_after: number | null }>(`/v1/jobs/${jobId}/events`, { after, limit: 1000 }, signal);
  tell("live");
  const ended = take(page.items);
  if (!ended && page.next_after === null) await pause(POLL_MS, signal);
  return ended;
}

async function readStream(answer: Response, take: Take): Promise<boolean> {
  let ended = false;
  for await (const frames of framesOf(answer)) ended = take(frames.map((frame) => JSON.parse(frame.data) as JobEvent)) || ended;
  if (!ended) throw new Error("the stream broke off");
  return ended;
}

export interface Frame {
  id: string;
  event: string;
  data: string;
}

/** The frames of a stream of events until it ends, as many at once as have come. */
export async function* framesOf(answer: Response): AsyncGenerator<Frame[]> {
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop()!;
    yield parts.flatMap(parse);
  }
}

/** The frame: none for a comment. */
export function parse(text: string): Frame[] {
  const field = (name: string): string[] =>
    text
      .split("\n")
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).trimStart());
  const data = field("data").join("\n");
  return data === "" ? [] : [{ id: field("id")[0] ?? "", event: field("event")[0] ?? "", data }];
}

export function isEnd(type: string): boolean {
  return /^job_(succeeded|failed|cancelled|dead)$/.test(type);
}

/** Does the work with one of the few streams that the tabs of a browser share, or says that none is free. */
export async function withSlot<T>(signal: AbortSignal, work: (own: boolean) => Promise<T>): Promise<T> {
  if (!("locks" in navigator)) return work(true);
  for (let slot = 0; slot < STREAMS; slot += 1) {
    const done = await navigator.locks.request(`assay-stream-${slot}`, { ifAvailable: true }, async (lock) =>
      lock === null ? null : { value: await work(true) },
    );
    if (done !== null) return done.value;
    if (signal.aborted) break;
  }
  return work(false);
}

export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}

export function useVisible(): boolean {
  const [visible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = (): void => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return visible;
}
