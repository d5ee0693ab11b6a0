import type { components } from "../../api/schema";
import { count } from "../../shared/values/numbers";
import { stamp, took, useTimes } from "../../shared/values/time";

export type Hour = components["schemas"]["StatsRow"];

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
const HEIGHT = 20;
const STEP = 6;

/** How long answers took in each hour of the last day: the median dark, the 95th percentile light; a mark below where it replaced another. */
export function Strip({ hours, slowest }: { hours: readonly Hour[]; slowest: number }) {
  const [times] = useTimes();
  const zone = times === "UTC" ? "UTC" : "local";
  const calls = hours.reduce((sum, hour) => sum + hour.calls, 0);
  if (calls === 0) return <span className="muted">no calls</span>;
  const newest = Math.floor(Date.now() / HOUR_MS);
  const high = (seconds: number | null | undefined): number => (slowest === 0 ? 0 : Math.max(1, (HEIGHT * (seconds ?? 0)) / slowest));
  return (
    <svg className="hours" width={24 * STEP} height={HEIGHT + 4} role="img" aria-label={`${count(calls)} calls; ${hours.map((hour) => told(hour, zone)).join("; ")}`}>
      {hours.map((hour) => {
        const x = (23 - (newest - Math.floor(Date.parse(hour.at) / HOUR_MS))) * STEP;
        return (
          <g key={hour.at}>
            <title>{told(hour, zone)}</title>
            <rect className="p95" x={x} y={HEIGHT - high(hour.run_p95)} width={STEP - 1} height={high(hour.run_p95)} />
            <rect className="p50" x={x} y={HEIGHT - high(hour.run_p50)} width={STEP - 1} height={high(hour.run_p50)} />
            {hour.failovers ? <rect className="over" x={x} y={HEIGHT + 1} width={STEP - 1} height={3} /> : null}
          </g>
        );
      })}
    </svg>
  );
}

function told(hour: Hour, zone: "local" | "UTC"): string {
  const over = hour.failovers ? `, ${count(hour.failovers)} in place of another` : "";
  return `${stamp(new Date(hour.at), zone)}: ${count(hour.calls)} calls, p50 ${took(hour.run_p50)}, p95 ${took(hour.run_p95)}${over}`;
}
