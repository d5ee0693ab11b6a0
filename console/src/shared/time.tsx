import { useEffect, useState } from "react";

const STEPS: readonly [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [86_400, "day"],
  [3600, "hour"],
  [60, "minute"],
  [1, "second"],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });

/** "3 min. ago", with the local and the universal time behind it. */
export function When({ at }: { at: string | null | undefined }) {
  const now = useNow(at ? 15_000 : 0);
  if (!at) return <span className="muted">–</span>;
  const moment = new Date(at);
  const local = moment.toLocaleString(undefined, { timeZoneName: "short" });
  return (
    <time dateTime={at} title={`${local}\n${at}`}>
      {ago((moment.getTime() - now) / 1000)}
    </time>
  );
}

export function ago(seconds: number): string {
  const [size, unit] = STEPS.find(([each]) => Math.abs(seconds) >= each) ?? [1, "second"];
  return relative.format(Math.round(seconds / size), unit);
}

export function took(seconds: number | null | undefined): string {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "–";
  if (seconds < 0.0095) return "< 10 ms";
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
