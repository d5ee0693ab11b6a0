import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { JobCounts } from "../../api/types";
import { StateShape } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { JOB_STATES, type StateIcon } from "../../shared/values/states";
import { stamp } from "../../shared/values/time";
import { queryOf, type Change, type Url } from "./filters";

export const COUNTS = "job-counts";

const GROUPS: readonly { name: string; states: readonly (keyof typeof JOB_STATES)[]; icon: StateIcon; always?: boolean }[] = [
  { name: "Active", states: ["queued", "running"], icon: "half", always: true },
  { name: "Succeeded", states: ["succeeded"], icon: "check" },
  { name: "Failed", states: ["failed", "dead"], icon: "cross", always: true },
  { name: "Canceled", states: ["cancelled"], icon: "slash" },
];

/** How many jobs of the list's other filters are in each group of states; a click shows those, another one all again. */
export function Counts({ url, change }: { url: Url; change: Change }) {
  const { state: _, ...filter } = queryOf(url);
  const query = useQuery({
    queryKey: [COUNTS, filter],
    queryFn: ({ signal }) => get<JobCounts>("/v1/jobs/counts", filter, signal),
    placeholderData: (before) => before,
    refetchInterval: 30_000,
  });
  const items = query.data?.items ?? [];
  const back = query.data?.looked_back_to;
  const of = (states: readonly string[]): string => {
    const those = items.filter(({ state }) => states.includes(state));
    return `${count(those.reduce((sum, { jobs }) => sum + jobs, 0))}${those.some(({ more }) => more) ? "+" : ""}`;
  };
  const toggle = (states: string): void => change({ state: url.state === states ? null : states });
  return (
    <div className="bar scroll-x" role="group" aria-label="Jobs by state" title={back ? `Of the jobs since ${stamp(new Date(back), "local")}; older ones were not counted` : undefined}>
      <button type="button" className="chip" aria-pressed={url.state === undefined} onClick={() => change({ state: null })}>
        All <span className="muted">{of(Object.keys(JOB_STATES))}</span>
      </button>
      {GROUPS.filter(({ states, always }) => always || of(states) !== "0" || url.state === states.join(",")).map(({ name, states, icon }) => (
        <button key={name} type="button" className="chip" aria-pressed={url.state === states.join(",")} onClick={() => toggle(states.join(","))}>
          <StateShape icon={icon} size={14} />
          {name} <span className="muted">{of(states)}</span>
        </button>
      ))}
      <button type="button" className="chip" aria-pressed={url.failed_over === "true"} onClick={() => change({ failed_over: url.failed_over === "true" ? null : "true" })}>
        Used fallback
      </button>
    </div>
  );
}
