import type { ReactNode } from "react";

const WIDTH = 96;

interface Counted {
  runs: number;
  successes: number;
  interval: readonly unknown[];
}

/** "17 of 20 85% (64–95)" and the same as a mark on a line from 0 to 100%: few runs prove little. */
export function Success({ of }: { of: Counted }) {
  if (of.runs === 0) return <span className="muted">No run yet</span>;
  const [low, high] = of.interval as [number, number];
  return (
    <ShareBar share={of.successes / of.runs} low={low} high={high}>
      <span className="muted">
        {of.successes}/{of.runs}
      </span>
    </ShareBar>
  );
}

/** A share with the interval in which the true one is likely, drawn and in words. */
export function ShareBar({ share, low, high, children }: { share: number; low: number; high: number; children?: ReactNode }) {
  return (
    <span className="bar line share">
      <svg width={WIDTH} height="14" viewBox={`-4 0 ${WIDTH + 8} 14`} aria-hidden="true">
        <line x1="0" x2={WIDTH} y1="7" y2="7" stroke="var(--c-track)" strokeWidth="6" strokeLinecap="round" />
        <line x1={low * WIDTH} x2={high * WIDTH} y1="7" y2="7" stroke="var(--c-rest)" strokeWidth="6" strokeLinecap="round" />
        <line x1={share * WIDTH} x2={share * WIDTH} y1="2" y2="12" stroke="var(--accent)" strokeWidth="2.5" />
      </svg>
      <b>{percent(share)}%</b>
      <span className="muted">
        {percent(low)}–{percent(high)}
      </span>
      {children}
    </span>
  );
}

/** "57–100%": an interval of shares. */
export function intervalWords(interval: readonly unknown[] | null | undefined): string {
  if (interval === null || interval === undefined) return "";
  const [low, high] = interval as [number, number];
  return `${percent(low)}–${percent(high)}%`;
}

function percent(share: number): number {
  return Math.round(share * 100);
}

/** Causes of failure with how often, the most frequent first. */
export function Causes({ of }: { of: Readonly<Record<string, number>> | undefined }): ReactNode {
  const causes = Object.entries(of ?? {}).sort(([, one], [, other]) => other - one);
  if (causes.length === 0) return <span className="muted">–</span>;
  return causes.map(([cause, number]) => `${cause.replaceAll("_", " ")} ${number}`).join(", ");
}
