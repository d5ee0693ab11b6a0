import type { JobCounts } from "../../api/types";
import { groupOf, JOB_STATES, RESULT_STATES, type OutcomeGroup, type StateIcon } from "../../shared/values/states";

export const GROUPS: readonly { name: OutcomeGroup; icon: StateIcon; always?: boolean }[] = [
  { name: "Active", icon: "half", always: true },
  { name: "Done", icon: "check", always: true },
  { name: "Unverified", icon: "dashed-check" },
  { name: "Needs an answer", icon: "question" },
  { name: "Failed", icon: "cross", always: true },
  { name: "Canceled", icon: "slash" },
];

export interface Counted {
  jobs: number;
  /** Whether there are further ones that were not counted. */
  more: boolean;
}

const OF_STATE: Readonly<Record<string, readonly string[]>> = { Active: ["queued", "running"], Canceled: ["cancelled"], Failed: ["failed", "dead"] };

/** How many jobs there are, and in each group. Results are read of the newest ones only: of what they say there may be more. */
export function countsOf({ items, outcomes }: Pick<JobCounts, "items" | "outcomes">): Readonly<Record<OutcomeGroup | "All", Counted>> {
  const inStates = (states: readonly string[]): Counted => {
    const those = items.filter(({ state }) => states.includes(state));
    return { jobs: those.reduce((sum, { jobs }) => sum + jobs, 0), more: those.some(({ more }) => more) };
  };
  const all = inStates(Object.keys(JOB_STATES));
  const read = Object.values(outcomes ?? {}).reduce((sum, jobs) => sum + jobs, 0);
  const cut = all.more || read < all.jobs;
  const inGroup = (name: OutcomeGroup): Counted => {
    const exact = inStates(OF_STATE[name] ?? []);
    if (name === "Active" || name === "Canceled") return exact;
    const those = Object.entries(outcomes ?? {}).filter(([outcome]) => groupOf(outcome, !isKnown(outcome)) === name);
    return { jobs: Math.max(exact.jobs, those.reduce((sum, [, jobs]) => sum + jobs, 0)), more: cut };
  };
  return { All: all, ...(Object.fromEntries(GROUPS.map(({ name }) => [name, inGroup(name)])) as Record<OutcomeGroup, Counted>) };
}

/** Whether it is a state or a verdict; all else is an error's code. */
function isKnown(outcome: string): boolean {
  return outcome in JOB_STATES || outcome in RESULT_STATES;
}
