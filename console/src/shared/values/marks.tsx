import {
  Check,
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CircleMinus,
  CirclePause,
  CircleSlash,
  CircleX,
  Clock,
  MessageCircleQuestionMark,
  Minus,
  OctagonX,
  Skull,
  TriangleAlert,
  Unplug,
  X,
  type LucideIcon,
} from "lucide-react";
import type { ReactNode } from "react";
import type { Job } from "../../api/types";
import { JOB_STATES, stateOf, type State, type StateIcon, type Tone } from "./states";

const SHAPES: Readonly<Record<Exclude<StateIcon, "half" | "dashed-check">, LucideIcon>> = {
  dashed: CircleDashed,
  check: CircleCheck,
  cross: CircleX,
  slash: CircleSlash,
  skull: Skull,
  question: MessageCircleQuestionMark,
  alert: CircleAlert,
  minus: CircleMinus,
  clock: Clock,
  octagon: OctagonX,
  pause: CirclePause,
  unplug: Unplug,
  triangle: TriangleAlert,
  tick: Check,
  times: X,
  dash: Minus,
};

/** The two that the icon set does not have. */
const OWN: Readonly<Record<"half" | "dashed-check", ReactNode>> = {
  half: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M12 3a9 9 0 0 1 0 18z" fill="currentColor" stroke="none" />
    </>
  ),
  "dashed-check": (
    <path d="M10.1 2.182a10 10 0 0 1 3.8 0M13.9 21.818a10 10 0 0 1-3.8 0m5.9-12.818-5.5 5.5L8 12m9.609-8.279a10 10 0 0 1 2.69 2.7M2.182 13.9a10 10 0 0 1 0-3.8m18.097 7.509a10 10 0 0 1-2.7 2.69M21.818 10.1a10 10 0 0 1 0 3.8M3.721 6.391a10 10 0 0 1 2.7-2.69m-.03 16.578a10 10 0 0 1-2.69-2.7" />
  ),
};

export function StateShape({ icon, size = 15 }: { icon: StateIcon; size?: number }) {
  if (icon === "half" || icon === "dashed-check") {
    return (
      <svg className="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" strokeWidth="1.75" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true">
        {OWN[icon]}
      </svg>
    );
  }
  const Shape = SHAPES[icon];
  return <Shape className="icon" size={size} strokeWidth={1.75} aria-hidden="true" />;
}

/** A state is a shape, a word and a color, so that none of them is needed alone. */
export function StateMark({ of: { word, icon, tone }, title, compact = false }: { of: State; title?: string; compact?: boolean }) {
  return (
    <span className={`state ${tone}`} title={compact ? (title ?? word) : title}>
      <StateShape icon={icon} />
      {compact ? <span className="unseen">{word}</span> : word}
    </span>
  );
}

/** The one mark of a job: its verdict where there is one. */
export function JobMark({ job, compact }: { job: Parameters<typeof stateOf>[0]; compact?: boolean }) {
  return <StateMark of={stateOf(job)} compact={compact} />;
}

export function jobState(state: string): State {
  return JOB_STATES[state as Job["state"]] ?? { word: state, icon: "alert", tone: "warn" };
}

export function Tag({ tone = "", title, children }: { tone?: "" | Tone; title?: string; children: ReactNode }) {
  return (
    <span className={`tag ${tone}`} title={title}>
      {children}
    </span>
  );
}

const LIVE: Readonly<Record<string, { word: string; tone: Tone }>> = {
  live: { word: "Live", tone: "good" },
  reconnecting: { word: "Reconnecting", tone: "warn" },
  paused: { word: "Paused", tone: "neutral" },
};

export function LiveTag({ liveness }: { liveness: string }) {
  const live = LIVE[liveness];
  if (live === undefined) return null;
  return (
    <Tag tone={live.tone === "good" ? "" : live.tone}>
      <span className={`dot ${live.tone}`} style={{ margin: 0 }} />
      {live.word}
    </Tag>
  );
}
