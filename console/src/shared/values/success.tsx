import type { ReactNode } from "react";

const WIDTH = 120;

interface Counted {
  runs: number;
  successes: number;
  interval: readonly unknown[];
}

/** "17/20 0.85 [0.64, 0.95]" and the same as a mark on a line from 0 to 1: few runs prove little. */
export function Success({ of }: { of: Counted }) {
  if (of.runs === 0) return <span className="muted">no run yet</span>;
  const [low, high] = of.interval as [number, number];
  const share = of.successes / of.runs;
  return (
    <span className="bar success">
      <svg width={WIDTH} height="14" viewBox={`-4 0 ${WIDTH + 8} 14`} aria-hidden="true">
        <line x1="0" x2={WIDTH} y1="7" y2="7" stroke="var(--line)" />
        <line x1={low * WIDTH} x2={high * WIDTH} y1="7" y2="7" stroke="var(--accent)" strokeWidth="3" />
        <circle cx={share * WIDTH} cy="7" r="4" fill="var(--accent)" />
      </svg>
      <span className="mono">
        {of.successes}/{of.runs} <b>{share.toFixed(2)}</b> <span className="muted">{intervalWords(of.interval)}</span>
      </span>
    </span>
  );
}

export function intervalWords(interval: readonly unknown[] | null | undefined): string {
  if (interval === null || interval === undefined) return "";
  return `[${(interval as number[]).map((value) => value.toFixed(2)).join(", ")}]`;
}

/** Causes of failure with how often, the most frequent first. */
export function Causes({ of }: { of: Readonly<Record<string, number>> | undefined }): ReactNode {
  const causes = Object.entries(of ?? {}).sort(([, one], [, other]) => other - one);
  if (causes.length === 0) return <span className="muted">–</span>;
  return causes.map(([cause, number]) => `${cause.replaceAll("_", " ")} ${number}`).join(", ");
}
