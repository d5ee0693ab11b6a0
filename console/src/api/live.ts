import { useQueryClient, type InfiniteData, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { send } from "./client";
import { framesOf, pause, useVisible, type Liveness } from "./events";
import type { Job, Page } from "./types";

type Told = { job: Job } | { reset: true } | { liveness: Liveness };

const RETRY_MS = 1000;

/**
 * Every job of the tenant as it changes. One tab of a browser streams and tells the others, so that any number of them
 * costs one connection; a hidden tab lets another lead.
 */
export function useLiveJobs(tenant: string | undefined, onJob: (job: Job | null) => void): Liveness {
  const [liveness, setLiveness] = useState<Liveness>("live");
  const visible = useVisible();
  const hear = useRef(onJob);
  hear.current = onJob;
  useEffect(() => {
    if (tenant === undefined) return undefined;
    if (!visible) {
      setLiveness("paused");
      return undefined;
    }
    setLiveness("live");
    const stop = new AbortController();
    const channel = new BroadcastChannel(`assay-jobs-${tenant}`);
    const take = (told: Told): void => {
      if ("liveness" in told) setLiveness(told.liveness);
      else hear.current("job" in told ? told.job : null);
    };
    channel.onmessage = (message: MessageEvent<Told>) => take(message.data);
    const tell = (told: Told): void => {
      if (stop.signal.aborted) return;
      take(told);
      channel.postMessage(told);
    };
    void lead(`assay-jobs-${tenant}`, stop.signal, tell);
    return () => {
      stop.abort();
      channel.close();
    };
  }, [tenant, visible]);
  return liveness;
}

/** Waits until no other tab leads, and streams then. */
async function lead(name: string, signal: AbortSignal, tell: (told: Told) => void): Promise<void> {
  if (!("locks" in navigator)) return follow(signal, tell);
  try {
    await navigator.locks.request(name, { signal }, () => follow(signal, tell));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function follow(signal: AbortSignal, tell: (told: Told) => void): Promise<void> {
  let last: string | undefined;
  while (!signal.aborted) {
    try {
      const headers = { Accept: "text/event-stream", ...(last === undefined ? {} : { "Last-Event-ID": last }) };
      const answer = await send("GET", "/v1/events", { headers, signal });
      tell({ liveness: "live" });
      tell({ reset: true }); // what was before the stream stood is in the list
      for await (const frames of framesOf(answer)) {
        for (const frame of frames) {
          last = frame.id || last;
          tell(frame.event === "reset" ? { reset: true } : { job: JSON.parse(frame.data) as Job });
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Error && "status" in error && (error.status === 401 || error.status === 403)) return;
      tell({ liveness: "reconnecting" });
    }
    await pause(RETRY_MS, signal);
  }
}

/** The job as it is now, wherever a list shows it; false when the list of this key does not. */
export function patch(client: QueryClient, key: readonly unknown[], job: Job): boolean {
  let shown = false;
  client.setQueryData<InfiniteData<Page<Job>>>(key, (data) => {
    if (data === undefined || !data.pages.some((page) => page.items.some(({ id }) => id === job.id))) return data;
    shown = true;
    return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map((each) => (each.id === job.id ? job : each)) })) };
  });
  return shown;
}

const AGAIN_MS = 1000;

/** Reads lists again, at once and then once a second at most, however much changes. */
export function useRefresh(...keys: readonly string[][]): () => void {
  const client = useQueryClient();
  const due = useRef<ReturnType<typeof setTimeout> | null>(null);
  const at = useRef(0);
  useEffect(() => () => clearTimeout(due.current ?? undefined), []);
  return () => {
    if (due.current !== null) return;
    due.current = setTimeout(
      () => {
        due.current = null;
        at.current = Date.now();
        for (const queryKey of keys) void client.invalidateQueries({ queryKey });
      },
      Math.max(0, at.current + AGAIN_MS - Date.now()),
    );
  };
}
