import { useEffect, useRef, useState } from "react";
import { Problem, send } from "../../api/client";
import { useVisible, type Liveness } from "../../api/events";
import { framesOf, pause } from "../../api/frames";

const RETRY_MS = 1000;
const POLL_MS = 1500;

/**
 * Tells when somebody has changed the flow: by its stream of versions, or, when the tabs of this browser use all their
 * streams already, by looking. A hidden tab lets its stream go; no id, nothing is followed.
 */
export function useLiveFlow(id: string | null, version: number, onNews: () => void): Liveness {
  const [liveness, setLiveness] = useState<Liveness>("live");
  const visible = useVisible();
  const now = useRef({ version, onNews });
  now.current = { version, onNews };
  useEffect(() => {
    if (id === null) return undefined;
    if (!visible) {
      setLiveness("paused");
      return undefined;
    }
    const stop = new AbortController();
    const look = (): void => now.current.onNews();
    void follow(id, now.current.version, stop.signal, look, setLiveness);
    return () => stop.abort();
  }, [id, visible]);
  return liveness;
}

async function follow(id: string, seen: number, signal: AbortSignal, look: () => void, tell: (state: Liveness) => void): Promise<void> {
  let last = seen;
  const stream = async (): Promise<void> => {
    const answer = await send("GET", `/v1/flows/${id}/events`, { headers: { Accept: "text/event-stream", "Last-Event-ID": String(last) }, signal });
    tell("live");
    for await (const frames of framesOf(answer)) {
      last = Number(frames.at(-1)?.id || last);
      if (frames.length > 0) look();
    }
  };
  const poll = async (): Promise<void> => {
    tell("live");
    await pause(POLL_MS, signal);
    look();
  };
  while (!signal.aborted) {
    try {
      await withSlot((own) => (own ? stream() : poll()));
    } catch (error) {
      if (signal.aborted) return;
      const status = error instanceof Problem ? error.status : 0;
      if (status !== 401) look(); // a flow that is gone (404) is told by the page
      if (status === 401 || status === 404) return;
      tell("reconnecting");
    }
    await pause(RETRY_MS, signal);
  }
}

/** Does the work with the one stream that the flows of all tabs of a browser share, or says that another one has it. */
async function withSlot(work: (own: boolean) => Promise<void>): Promise<void> {
  if (!("locks" in navigator)) return work(true);
  await navigator.locks.request("assay-flow-stream", { ifAvailable: true }, (lock) => work(lock !== null));
}
