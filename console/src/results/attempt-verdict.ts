import type { Iteration } from "../api/types";

type Verdict = "result" | "unverified" | "failed";

/** How each verdict is marked. */
export const VERDICTS: Readonly<Record<Verdict, { sign: string; tone: "good" | "warn" | "bad" }>> = {
  result: { sign: "✓", tone: "good" },
  unverified: { sign: "○", tone: "warn" },
  failed: { sign: "✗", tone: "bad" },
};

/** Whether an attempt gave a result, and one that nothing speaks against; attempts of older jobs have no reasons. */
export function verdictOfAttempt({ outcome, unverified_because: reasons = [] }: Pick<Iteration, "outcome"> & Partial<Pick<Iteration, "unverified_because">>): Verdict {
  if (outcome !== "result") return "failed";
  return reasons.length === 0 ? "result" : "unverified";
}
