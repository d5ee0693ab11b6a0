import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { JobCounts } from "../../api/types";
import { jobState, StateMark } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { stamp } from "../../shared/values/time";
import { queryOf, type Change, type Url } from "./filters";

export const COUNTS = "job-counts";

/** How many jobs of the list's other filters are in each state; a click shows those, another one all again. */
export function Counts({ url, change }: { url: Url; change: Change }) {
  const { state: _, ...filter } = queryOf(url);
  const query = useQuery({
    queryKey: [COUNTS, filter],
    queryFn: ({ signal }) => get<JobCounts>("/v1/jobs/counts", filter, signal),
    placeholderData: (before) => before,
    refetchInterval: 30_000,
  });
  const chosen = url.state?.split(",") ?? [];
  const back = query.data?.looked_back_to;
  const shown = (query.data?.items ?? []).filter((each) => each.jobs > 0 || chosen.includes(each.state));
  return (
    <div className="bar" role="group" aria-label="Jobs by state" title={back ? `Of the jobs since ${stamp(new Date(back), "local")}; older ones were not counted` : undefined}>
      {shown.map(({ state, jobs, more }) => (
        <button key={state} type="button" className="count" aria-pressed={chosen.includes(state)} onClick={() => change({ state: url.state === state ? null : state })}>
          <StateMark of={jobState(state)} /> <b>{count(jobs)}</b>
          {more ? <span title="There may be more: they are not counted further">+</span> : null}
        </button>
      ))}
    </div>
  );
}
