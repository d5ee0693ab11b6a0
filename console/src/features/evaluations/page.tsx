import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { FlaskConical, Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { Icon } from "../../shared/values/icon";
import { get } from "../../api/client";
import type { EvaluationSummary, Page as PageOf } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { StateMark } from "../../shared/values/marks";
import { Empty, Loaded } from "../../shared/page/loading-states";
import { Success } from "../../shared/values/success";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { History } from "./history";
import { Shadows } from "./shadows";
import { EVALUATION_STATES } from "../../shared/values/states";
import { SortedTable } from "../../shared/tables/sorted-table";
import { LoadMore } from "../../shared/page/load-more";

const Start = lazy(() => import("./start"));

const SHOWN_VARIANTS = 4;

export function Page() {
  const [{ suite }, change] = useUrl();
  const [starting, setStarting] = useState(false);
  useTitle(suite === undefined ? "Evaluations" : `${suite} · Evaluations`);
  const query = useInfiniteQuery({
    queryKey: ["evaluations", suite],
    queryFn: ({ pageParam }) => get<PageOf<EvaluationSummary>>("/v1/evaluations", { suite, limit: 50, cursor: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: (state) => ((state.state.data?.pages.length ?? 0) > 1 ? false : 3000),
    placeholderData: (before) => before,
  });
  return (
    <>
      <div className="head">
        <h1>Evaluations</h1>
        {suite === undefined ? null : (
          <span className="tag accent">
            suite: {visible(suite)}{" "}
            <button type="button" className="link" aria-label="Show all suites" onClick={() => change({ suite: null, by: null })}>
              ×
            </button>
          </span>
        )}
        <span className="spacer" />
        <Button leftSection={<Icon of={Plus} />} onClick={() => setStarting(true)}>
          New evaluation
        </Button>
      </div>
      {starting ? (
        <Suspense>
          <Start known={query.data?.pages.flatMap((page) => page.items) ?? []} onClose={() => setStarting(false)} />
        </Suspense>
      ) : null}
      <div className="stack">
        <Loaded query={query} rows={8}>
          {({ pages }) => {
            const items = pages.flatMap((page) => page.items);
            if (items.length === 0) return <Nothing suite={suite} />;
            return (
              <div className="stack">
                {suite === undefined ? null : <History items={items} />}
                <List items={items} />
                <LoadMore query={query} />
              </div>
            );
          }}
        </Loaded>
        {suite === undefined ? <Shadows /> : null}
      </div>
    </>
  );
}

function List({ items }: { items: readonly EvaluationSummary[] }) {
  return (
    <SortedTable
      id="evaluations"
      label="Evaluations"
      frame="tall"
      columns={[
        { name: "State", by: (row) => row.state },
        { name: "Suite", by: (row) => row.name },
        { name: "Runs", num: true, by: (row) => row.progress.runs },
        "Success by variant (95%)",
        { name: "Started", num: true, by: (row) => row.created_at },
        "",
      ]}
      items={items}
      row={(each) => (
        <tr key={each.id}>
          <td>
            <StateMark of={EVALUATION_STATES[each.state]} />
          </td>
          <td>
            <Link to="/evaluations/$id" params={{ id: each.id }} className="plain">
              {visible(each.name)}
            </Link>
          </td>
          <td className="num">
            {each.progress.finished}/{each.progress.runs}
          </td>
          <td>
            <Variants of={each} />
          </td>
          <td className="num muted">
            <When at={each.created_at} />
          </td>
          <td>
            <Link to="/evaluations" search={{ suite: each.name } as never} className="plain">
              Over time
            </Link>
          </td>
        </tr>
      )}
    />
  );
}

function Variants({ of }: { of: EvaluationSummary }) {
  const best = [...of.totals].sort((one, other) => share(other) - share(one));
  return (
    <span className="tight">
      {best.slice(0, SHOWN_VARIANTS).map((total) => (
        <span key={total.variant} className="bar">
          <Success of={total} /> {visible(total.variant)}
        </span>
      ))}
      {best.length > SHOWN_VARIANTS ? <span className="muted">and {best.length - SHOWN_VARIANTS} more</span> : null}
    </span>
  );
}

function share({ successes, runs }: { successes: number; runs: number }): number {
  return runs === 0 ? -1 : successes / runs;
}

function Nothing({ suite }: { suite: string | undefined }) {
  return (
    <Empty title={suite === undefined ? "No evaluations yet" : `No evaluation of ${suite} yet`} icon={FlaskConical}>
      Run a suite of cases with several models and prompts, and see which one gives what each case expects. On the page of a finished job, “Add to evaluation…” makes it a case. From the command line: <code>assay eval run suite.yaml --repeat 3</code>
    </Empty>
  );
}
