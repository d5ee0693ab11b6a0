import { Select } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { get } from "../../api/client";
import { jobsPage } from "../../api/queries";
import type { components } from "../../api/schema";
import type { CollectionView, Job, Page as PageOf } from "../../api/types";
import { STRATEGIES } from "../../results/ladder";
import { visible } from "../../shared/code/ansi";
import { Empty, Loaded } from "../../shared/page/loading-states";
import { titleOf } from "../../shared/page/title";
import { SortedTable } from "../../shared/tables/sorted-table";
import { JobMark } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { stateOf } from "../../shared/values/states";
import { between, took, When } from "../../shared/values/time";
import { LoadMore } from "../../shared/page/load-more";

type PastAttempt = components["schemas"]["PastAttempt"];

/** All searches of the tenant, and the queries that those of one collection tried. */
export function History({ collections, chosen, onChoose }: { collections: readonly CollectionView[]; chosen: CollectionView; onChoose: (name: string) => void }) {
  return (
    <div className="sections">
      <Searches />
      <section aria-label="Queries tried">
        <div className="sec">
          <h2>Queries tried</h2>
          <span className="muted">what each attempt found that was new</span>
          <span className="spacer" />
          <Select aria-label="Collection of the queries" data={collections.map(({ name }) => name)} value={chosen.name} allowDeselect={false} onChange={(name) => onChoose(name ?? chosen.name)} w={200} />
        </div>
        <Attempts key={chosen.name} collection={chosen.name} />
      </section>
    </div>
  );
}

/** The searches, newest first; each opens as it was. */
function Searches() {
  const query = useInfiniteQuery({
    queryKey: ["searches"],
    queryFn: ({ pageParam, signal }) => jobsPage({ kind: ["search"], limit: 50, cursor: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  return (
    <section aria-label="Searches">
      <div className="sec">
        <h2>Searches</h2>
      </div>
      <div className="stack">
        <SortedTable
          id="searches"
          label="Past searches"
          frame="tall"
          columns={[
            { name: "Question", by: (job) => titleOf(job) },
            { name: "Outcome", by: (job) => stateOf(job).word },
            { name: "Attempts", num: true, by: (job) => job.turns },
            { name: "Duration", num: true, by: (job) => between(job.started_at, job.finished_at) },
            { name: "Cost", num: true, by: (job) => job.usage?.cost_usd },
            { name: "Created", num: true, by: (job) => job.created_at },
          ]}
          items={items}
          error={query.error}
          retry={() => void query.refetch()}
          empty={<Empty title="No searches yet" icon={Search}>Questions that you, the command line or a program ask appear here.</Empty>}
          row={(job) => <SearchRow key={job.id} job={job} />}
        />
        <LoadMore query={query} />
      </div>
    </section>
  );
}

function SearchRow({ job }: { job: Job }) {
  return (
    <tr>
      <td className="grow">
        <Link to="/search" search={{ job: job.id } as never}>
          {visible(titleOf(job))}
        </Link>
      </td>
      <td>
        <JobMark job={job} />
      </td>
      <td className="num">{job.turns || "–"}</td>
      <td className="num">{took(between(job.started_at, job.finished_at))}</td>
      <td className="num">{cost(job.usage?.cost_usd)}</td>
      <td className="num muted">
        <When at={job.created_at} />
      </td>
    </tr>
  );
}

function Attempts({ collection }: { collection: string }) {
  const query = useQuery({ queryKey: ["attempts", collection], queryFn: () => get<PageOf<PastAttempt>>(`/v1/collections/${encodeURIComponent(collection)}/attempts`, { limit: 50 }) });
  const hits = (attempt: PastAttempt): number => attempt.queries.reduce((sum, each) => sum + each.hits, 0);
  return (
    <SortedTable
      id="attempts"
      label="Queries of past searches"
      columns={[
        { name: "Query", by: (attempt) => attempt.queries[0]?.query_text },
        { name: "Step", by: (attempt) => attempt.strategy },
        { name: "Hits", num: true, by: hits },
        { name: "New", num: true, by: (attempt) => attempt.gain },
        { name: "Created", num: true, by: (attempt) => attempt.created_at },
      ]}
      items={query.data?.items}
      error={query.error}
      retry={() => void query.refetch()}
      empty={<span className="muted">Nothing was searched in this collection yet.</span>}
      row={(attempt) => (
        <tr key={attempt.id}>
          <td className="grow">
            <Link to="/search" search={{ job: attempt.job_id } as never}>
              {visible(attempt.queries[0]?.query_text ?? "")}
            </Link>
          </td>
          <td>{STRATEGIES[attempt.strategy] ?? attempt.strategy}</td>
          <td className="num">{count(hits(attempt))}</td>
          <td className="num">{count(attempt.gain)}</td>
          <td className="num muted">
            <When at={attempt.created_at} />
          </td>
        </tr>
      )}
    />
  );
}

/** The latest searches as a few lines, where no search is open. */
export function RecentSearches({ onAll }: { onAll: () => void }) {
  const query = useQuery({ queryKey: ["jobs", "recent searches"], queryFn: ({ signal }) => jobsPage({ kind: ["search"], limit: 8 }, signal) });
  return (
    <Loaded query={query} rows={4}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="Hits will appear here" icon={Search}>
            With the queries that found it, and, when nothing is found, which filter to remove.
          </Empty>
        ) : (
          <section aria-label="Recent searches">
            <div className="sec">
              <h2>Recent searches</h2>
              <span className="spacer" />
              <button type="button" className="link" onClick={onAll}>
                View all
              </button>
            </div>
            {items.map((job) => (
              <div key={job.id} className="line-item">
                <JobMark job={job} compact />
                <span className="words">
                  <Link to="/search" search={{ job: job.id } as never} className="task">
                    {visible(titleOf(job))}
                  </Link>
                  <span className="sub">{stateOf(job).word}</span>
                </span>
                <span className="muted num">
                  <When at={job.created_at} />
                </span>
              </div>
            ))}
          </section>
        )
      }
    </Loaded>
  );
}
