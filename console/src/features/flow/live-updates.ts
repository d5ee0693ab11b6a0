import { useEffect, useRef, useState } from "react";
import { Problem, send } from "../../api/client";
import { useVisible, type Liveness } from "../../api/events";
import { framesOf, pause } from "../../api/frames";
import { withSlot } from "../../api/stream-slots";

const RETRY_MS = 1000;
const POLL_MS = 1500;

/**
 * Reports changes of the flow by others: by its stream of versions or, while other tabs have all streams, by polling.
 * A hidden tab closes its stream; without an id nothing is followed.
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
      await withSlot((hasStream) => (hasStream ? stream() : poll()));
    } catch (error) {
      if (signal.aborted) return;
      const status = error instanceof Problem ? error.status : 0;
      if (status !== 401) look(); // the page reports a flow that is gone (404)
      if (status === 401 || status === 404) return;
      tell("reconnecting");
    }
    await pause(RETRY_MS, signal);
  }
}
