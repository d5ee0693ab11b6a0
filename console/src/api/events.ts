import { useEffect, useRef, useState } from "react";
import { follow } from "./follow";
import { endsJob, type Liveness } from "./news";
import type { JobEvent } from "./types";

export type { Liveness };

/** All events of a job so far, in order, and whether more will come by themselves. Hidden tabs watch nothing. */
export function useJobEvents(jobId: string | undefined): { events: readonly JobEvent[]; liveness: Liveness } {
  const [events, setEvents] = useState<readonly JobEvent[]>([]);
  const [liveness, setLiveness] = useState<Liveness>("live");
  const reached = useRef({ jobId, last: 0, ended: false });
  const visible = useVisible();
  useEffect(() => {
    if (reached.current.jobId === jobId) return;
    reached.current = { jobId, last: 0, ended: false };
    setEvents([]);
    setLiveness("live");
  }, [jobId]);
  useEffect(() => {
    if (jobId === undefined || reached.current.ended) return undefined;
    if (!visible) {
      setLiveness("paused");
      return undefined;
    }
    setLiveness("live");
    return follow({
      topic: jobId,
      after: reached.current.last,
      onNews: (news) => {
        const fresh = news.flatMap((each) => ("event" in each ? [each.event] : []));
        reached.current.last = news[news.length - 1]!.id;
        setEvents((now) => [...now, ...fresh]);
        reached.current.ended = news.some(endsJob);
        if (reached.current.ended) setLiveness("ended");
      },
      onState: setLiveness,
    });
  }, [jobId, visible]);
  return { events, liveness };
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
