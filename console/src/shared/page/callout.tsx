import type { ReactNode } from "react";
import { StateShape } from "../values/marks";
import type { StateIcon, Tone } from "../values/states";

const ICONS: Readonly<Record<Tone, StateIcon>> = { good: "check", bad: "cross", warn: "triangle", accent: "alert", neutral: "alert" };

/** What happened, in its tone: first what, then what it means, with an action at the right. */
export function Callout({ tone = "neutral", icon, role, actions, className = "", children }: { tone?: Tone; icon?: StateIcon; role?: "alert" | "status"; actions?: ReactNode; className?: string; children: ReactNode }) {
  return (
    <div className={`callout ${tone} ${className}`} role={role}>
      <span className="mark">
        <StateShape icon={icon ?? ICONS[tone]} size={16} />
      </span>
      {actions === undefined ? (
        children
      ) : (
        <>
          <div>{children}</div>
          <div className="acts">{actions}</div>
        </>
      )}
    </div>
  );
}
