import type { ReactNode } from "react";

const SHAPES: Readonly<Record<string, ReactNode>> = {
  queued: <circle cx="7" cy="7" r="5" fill="none" stroke="currentColor" strokeWidth="2" strokeDasharray="2.6 2.6" />,
  running: (
    <>
      <circle cx="7" cy="7" r="5.2" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M7 1.8a5.2 5.2 0 0 1 0 10.4z" fill="currentColor" />
    </>
  ),
  succeeded: <path d="m2 7.5 3.4 3.4L12 3.6" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  failed: <path d="m3 3 8 8m0-8-8 8" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  cancelled: <path d="m3 11 8-8" fill="none" stroke="currentColor" strokeWidth="2.2" />,
  dead: <path d="M7 1.5v11M3.5 5h7" fill="none" stroke="currentColor" strokeWidth="2.2" />,
};

/** A state is a shape, a word and a colour, so that none of them is needed alone. */
export function StateMark({ state, word = state }: { state: string; word?: string }) {
  return (
    <span className={`state s-${state}`}>
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
        {SHAPES[state]}
      </svg>
      {word}
    </span>
  );
}

export function Tag({ tone = "", title, children }: { tone?: "" | "good" | "bad" | "warn" | "accent"; title?: string; children: ReactNode }) {
  return (
    <span className={`tag ${tone}`} title={title}>
      {children}
    </span>
  );
}

const LIVE: Readonly<Record<string, string>> = { live: "accent", reconnecting: "warn", paused: "", ended: "" };

export function LiveTag({ liveness }: { liveness: string }) {
  if (liveness === "ended") return null;
  return <Tag tone={(LIVE[liveness] ?? "") as "accent" | "warn" | ""}>{liveness}</Tag>;
}
