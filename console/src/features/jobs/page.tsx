import { Button } from "@mantine/core";
import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { List, Play, Plus, Search } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { patch, useLiveJobs, useRefresh } from "../../api/live";
import { jobsPage, SHOWN_ORDER } from "../../api/queries";
import type { Job, JobCounts } from "../../api/types";
import { useSession } from "../../app/shell";
import { useAnnounced } from "../../shared/page/announce";
import { Icon } from "../../shared/values/icon";
import { LiveTag } from "../../shared/values/marks";
import { sorted, sortOf, textOf, type Sort } from "../../shared/tables/sorting";
import { count } from "../../shared/values/numbers";
import { Rows } from "../../shared/tables/virtual-rows";
import { Empty, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { ColumnChoice, gridOf, shownOf, sized, useColumns, type Column } from "./columns";
import { Counts, COUNTS, countWords, useCounts } from "./counts";
import { countsOf, type Counted } from "./counts-of";
import { Export } from "./export";
import { chosen, Filters, fits, queryOf } from "./filters";
import { JobMenu } from "./job-menu";
import { BY, Cells, NEWEST, nextOf, Titles } from "./row";
import { Selection } from "./selection";
import { longestOf } from "./duration-strip";

/** Older jobs are not read to be sorted. */
const MAX_SORTED = 2000;
const NARROW = "24px minmax(60px, 1fr) 24px"; // all else is below the title

export function Page() {
  useTitle("Jobs");
  const [url, change] = useUrl();
  const navigate = useNavigate();
  const queried = queryOf(url);
  const sort = sortOf(url.sort);
  const filter = { ...queried, limit: sort === null ? 100 : 200 };
  const names = chosen(url);
  const filtered = names.length > 0;
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [matching, setMatching] = useState<readonly Job[] | null>(null);
  const [menu, setMenu] = useState<{ job: Job; button: HTMLElement } | null>(null);
  const counts = useCounts(url);
  const query = useInfiniteQuery({
    queryKey: ["jobs", filter],
    queryFn: ({ pageParam, signal }) => jobsPage({ ...filter, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: (state) => ((state.state.data?.pages.length ?? 0) > 1 ? false : 30_000),
    placeholderData: (before) => before,
  });
  const [waiting, setWaiting] = useState<ReadonlySet<string>>(new Set());
  const top = useRef(true);
  const refresh = useRefresh(["jobs"]);
  const recount = useRefresh([COUNTS]);
  const client = useQueryClient();
  const liveness = useLiveJobs(useSession()?.tenant, (job) => {
    recount();
    // Nothing moves under the pointer, and many pages are not read again for each change.
    const still = !top.current || picked.size > 0 || (query.data?.pages.length ?? 0) > 1;
    const patched = job !== null && patch(client, ["jobs", filter], job);
    if (patched && !filtered) return;
    if (!still) refresh();
    else if (job !== null && !patched && fits(url, job)) setWaiting((now) => new Set(now).add(job.id));
  });
  useAnnounced(waiting.size > 0 ? `${waiting.size} new jobs` : null, "new jobs");
  const showNew = (): void => {
    setWaiting(new Set());
    setPicked(new Set());
    document.querySelector(".rows")?.scrollTo({ top: 0 });
    void client.resetQueries({ queryKey: ["jobs", filter] });
  };
  const items = useMemo(() => inOrder(query.data?.pages.flatMap((page) => page.items) ?? [], sort), [query.data, url.sort]);
  useEffect(() => void client.setQueryData(SHOWN_ORDER, items.map(({ id }) => id)), [client, items]);
  // An order needs all jobs, as far as they are read.
  useEffect(() => {
    if (sort !== null && items.length < MAX_SORTED && query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  }, [sort, items.length, query.hasNextPage, query.isFetching, query.fetchNextPage]);
  const more = useCallback(() => {
    if (sort === null && query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  }, [sort, query.hasNextPage, query.isFetching, query.fetchNextPage]);
  const open = useCallback((id: string) => void navigate({ to: "/jobs/$id", params: { id } }), [navigate]);
  const clear = (): void => change(Object.fromEntries(names.map((name) => [name, null])));
  const choose = useCallback((ids: ReadonlySet<string>, jobs: readonly Job[] | null = null) => {
    setPicked(ids);
    setMatching(jobs);
  }, []);
  const pick = useCallback((id: string) => setPicked((now) => new Set(now.has(id) ? [...now].filter((each) => each !== id) : [...now, id])), []);
  const narrow = window.matchMedia("(max-width: 767px)").matches;
  const [kept, keep] = useColumns();
  const shown = shownOf(kept);
  return (
    <>
      <div className="head">
        <h1>Jobs</h1>
        <span className="spacer" />
        <LiveTag liveness={liveness} />
        <Export key={JSON.stringify(url)} filter={queried} />
        {narrow ? null : <ColumnChoice kept={kept} keep={keep} />}
        <Button component={Link} to="/transform" leftSection={<Icon of={Plus} />}>
          New job
        </Button>
      </div>
      <div className="bar filter-line">
        <Filters key={url.q} url={url} change={change} />
        {filtered ? (
          <Button variant="subtle" onClick={clear}>
            Clear filters
          </Button>
        ) : null}
      </div>
      <div className="filter-line">
        <Counts counts={counts} url={url} change={change} />
      </div>
      <Loaded query={query} rows={14}>
        {(data) => {
          const back = data.pages[data.pages.length - 1]?.looked_back_to;
          if (items.length === 0 && back) return <LooksOn back={back} more={more} />;
          if (items.length === 0) return <Nothing filtered={filtered} clear={clear} />;
          const longest = Math.max(...data.pages.map(longestOf));
          const chosenJobs = (matching ?? items).filter((job) => picked.has(job.id));
          const total = totalOf(counts, url);
          return (
            <div className="stack">
              {waiting.size > 0 ? (
                <span>
                  <Button variant="light" onClick={showNew}>
                    Show {waiting.size} new
                  </Button>
                </span>
              ) : null}
              {chosenJobs.length > 0 ? (
                <Selection jobs={chosenJobs} matching={total} filter={queried} onAll={(all) => choose(new Set(all.map(({ id }) => id)), all)} onClear={() => choose(new Set())} />
              ) : null}
            <Rows
              label="Jobs"
              items={items}
              columns={narrow ? NARROW : gridOf(kept)}
              titles={
                <Titles
                  shown={narrow ? ["Task"] : shown}
                  sort={sort ?? NEWEST}
                  onSort={(name) => change({ sort: textOf(nextOf(sort ?? NEWEST, name)) })}
                  onWidth={narrow ? undefined : (name, width) => keep(sized(kept, name, width))}
                  all={chosenJobs.length >= items.length}
                  onAll={() => choose(chosenJobs.length >= items.length ? new Set() : new Set(items.map(({ id }) => id)))}
                />
              }
              idOf={(job) => job.id}
              cells={(job) => <Cells job={job} narrow={narrow} shown={shown} picked={picked.has(job.id)} longest={longest} />}
              onOpen={open}
              height="calc(100vh - 224px)"
              onEnd={more}
              onPick={pick}
              onMenu={(id, button) => setMenu({ job: items.find((job) => job.id === id)!, button })}
              foot={(first, last) => (
                <>
                  <span>
                    {count(first)}–{count(last)} of {countWords(total.jobs < items.length ? { jobs: items.length, more: query.hasNextPage } : total)}
                  </span>
                  {sort === null ? null : (
                    <span role="status">{query.hasNextPage ? (items.length < MAX_SORTED ? `Reading jobs to sort them: ${count(items.length)}` : `Sorted are the newest ${count(items.length)}`) : null}</span>
                  )}
                </>
              )}
              onTop={(value) => (top.current = value)}
            />
            </div>
          );
        }}
      </Loaded>
      {menu === null ? null : <JobMenu {...menu} onSelect={() => pick(menu.job.id)} onClose={() => setMenu(null)} />}
    </>
  );
}

/** Sorted as one chose; the server's order is that of the newest first. */
function inOrder(jobs: readonly Job[], sort: Sort | null): readonly Job[] {
  const by = sort === null ? undefined : BY[sort.name as Column];
  return by === undefined ? jobs : sorted(jobs, by, sort!.down);
}

/** How many jobs match the filter, of the counts that are shown above the list. */
function totalOf(counts: JobCounts | undefined, { outcome, state }: Readonly<Record<string, string>>): Counted {
  const none = { jobs: 0, more: false };
  if (counts === undefined) return none;
  if (state !== undefined) return countsOf({ ...counts, items: counts.items.filter((each) => state.split(",").includes(each.state)) }).All;
  const of = countsOf(counts);
  if (outcome === undefined) return of.All;
  return outcome in of ? of[outcome as keyof typeof of] : { jobs: counts.outcomes?.[outcome] ?? 0, more: true };
}

/** A search through jobs of which few fit the filter continues by itself, and reports its progress. */
function LooksOn({ back, more }: { back: string; more: () => void }) {
  useEffect(more, [more]);
  return (
    <Empty title="Searching older jobs" icon={Search}>
      <span role="status">
        No match so far, back to <When at={back} />.
      </span>
    </Empty>
  );
}

function Nothing({ filtered, clear }: { filtered: boolean; clear: () => void }) {
  if (filtered) {
    return (
      <Empty
        title="No jobs match these filters"
        icon={Search}
        actions={
          <Button variant="default" onClick={clear}>
            Clear filters
          </Button>
        }
      />
    );
  }
  return (
    <Empty
      title="No jobs yet"
      icon={List}
      actions={
        <Button component={Link} to="/" leftSection={<Icon of={Play} />}>
          Run an example
        </Button>
      }
    >
      Jobs from the console, CLI and API appear here, newest first.
    </Empty>
  );
}
