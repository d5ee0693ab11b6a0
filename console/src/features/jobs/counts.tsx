import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { JobCounts } from "../../api/types";
import { StateShape } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { stamp } from "../../shared/values/time";
import { countsOf, GROUPS, type Counted } from "./counts-of";
import { queryOf, type Change, type Url } from "./filters";

export const COUNTS = "job-counts";

/** The counts of the jobs that the other filters leave. */
export function useCounts(url: Url): JobCounts | undefined {
  const { state: _, outcome: __, ...filter } = queryOf(url);
  const ask = (more: object) => ({ signal }: { signal: AbortSignal }) => get<JobCounts>("/v1/jobs/counts", { ...filter, ...more }, signal);
  const options = { placeholderData: (before: JobCounts | undefined) => before };
  const states = useQuery({ queryKey: [COUNTS, filter], queryFn: ask({}), refetchInterval: 30_000, ...options }).data;
  // These read results, so they are not counted again with each change.
  const outcomes = useQuery({ queryKey: ["job-outcomes", filter], queryFn: ask({ outcomes: true }), refetchInterval: 15_000, ...options }).data;
  return states && { ...states, outcomes: outcomes?.outcomes };
}

/** How many jobs of the list's other filters are in each group of outcomes; a click shows those, another one all again. */
export function Counts({ counts, url, change }: { counts: JobCounts | undefined; url: Url; change: Change }) {
  const of = countsOf(counts ?? { items: [], outcomes: {} });
  const back = counts?.looked_back_to;
  return (
    <div className="bar scroll-x" role="group" aria-label="Jobs by state" title={back ? `Of the jobs since ${stamp(new Date(back), "local")}; older ones were not counted` : undefined}>
      <button type="button" className="chip" aria-pressed={url.outcome === undefined && url.state === undefined} onClick={() => change({ outcome: null, state: null })}>
        All <span className="muted">{countWords(of.All)}</span>
      </button>
      {GROUPS.filter(({ name, always }) => always || of[name].jobs > 0 || url.outcome === name).map(({ name, icon }) => (
        <button key={name} type="button" className="chip" aria-pressed={url.outcome === name} onClick={() => change({ outcome: url.outcome === name ? null : name, state: null })}>
          <StateShape icon={icon} size={14} />
          {name} <span className="muted">{countWords(of[name])}</span>
        </button>
      ))}
      <button type="button" className="chip" aria-pressed={url.failed_over === "true"} onClick={() => change({ failed_over: url.failed_over === "true" ? null : "true" })}>
        Used fallback
      </button>
    </div>
  );
}

export function countWords({ jobs, more }: Counted): string {
  return `${count(jobs)}${more ? "+" : ""}`;
}
