import { useEffect, useState, useSyncExternalStore } from "react";

const STEPS: readonly [seconds: number, unit: string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** How all times are written: "3 min ago", of this machine's zone, or of UTC. */
export const TIMES = ["ago", "local", "UTC"] as const;
export type Times = (typeof TIMES)[number];
const KEPT = "assay.times";
const CHANGED = "assay-times";

/** The one switch for all times of the console; this browser keeps it, and its other tabs follow. */
export function useTimes(): [Times, (times: Times) => void] {
  const times = useSyncExternalStore(watchTimes, readTimes);
  const choose = (chosen: Times): void => {
    localStorage.setItem(KEPT, chosen);
    window.dispatchEvent(new Event(CHANGED));
  };
  return [times, choose];
}

function readTimes(): Times {
  return TIMES.find((each) => each === localStorage.getItem(KEPT)) ?? "ago";
}

function watchTimes(changed: () => void): () => void {
  const events = [CHANGED, "storage"];
  events.forEach((name) => window.addEventListener(name, changed));
  return () => events.forEach((name) => window.removeEventListener(name, changed));
}

/** A moment as the switch says, with the local and the universal time behind it. */
export function When({ at }: { at: string | null | undefined }) {
  const [times] = useTimes();
  const now = useNow(at && times === "ago" ? 15_000 : 0);
  if (!at) return <span className="muted">–</span>;
  const moment = new Date(at);
  const local = moment.toLocaleString(undefined, { timeZoneName: "short" });
  return (
    <time dateTime={at} title={`${local}\n${at}`}>
      {times === "ago" ? ago((moment.getTime() - now) / 1000) : stamp(moment, times)}
    </time>
  );
}

/** "11-24 01:55:07", the year before it when it is not this one, a Z behind it when it is UTC. */
export function stamp(moment: Date, times: "local" | "UTC", now = new Date()): string {
  const text = written(moment, times);
  const year = written(now, times).slice(0, 5);
  return `${text.startsWith(year) ? text.slice(5) : text}${times === "UTC" ? "Z" : ""}`;
}

function written(moment: Date, times: "local" | "UTC"): string {
  const shifted = times === "UTC" ? moment : new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19).replace("T", " ");
}

export function ago(seconds: number): string {
  const far = Math.abs(seconds);
  if (far < 1) return "now";
  const [size, unit] = STEPS.find(([each]) => far >= each)!;
  const text = `${Math.round(far / size)} ${unit}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

export function took(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 0.0095) return "<10 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
}

export function between(from: string | null | undefined, to: string | null | undefined): number | null {
  return from && to ? Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000) : null;
}

/** Milliseconds since 1970, renewed every so often; 0 does not renew. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (everyMs === 0) return undefined;
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
