import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { SortedTable } from "../../shared/tables/sorted-table";

type ServedBy = components["schemas"]["Served"];
type Row = components["schemas"]["ServedRow"];
type Name = components["schemas"]["ModelName"];

/** Which model was called first, and which answered in the end. */
export function Served({ time }: { time: Readonly<Record<string, string | undefined>> }) {
  const query = useQuery({
    queryKey: ["stats", "served", time],
    queryFn: () => get<ServedBy>("/v1/stats/served", time),
    refetchInterval: 15_000,
    placeholderData: (before) => before,
  });
  return (
    <Loaded query={query} rows={2}>
      {({ items }) => (
        <section className="panel" aria-label="Requested and served">
          <h2>Fallback report</h2>
          {items.length === 0 ? <span className="muted">No model was called in this period.</span> : <Pairs items={items} />}
        </section>
      )}
    </Loaded>
  );
}

function Pairs({ items }: { items: readonly Row[] }) {
  const called = new Map<string, number>();
  for (const row of items) called.set(wordsOf(row.requested), (called.get(wordsOf(row.requested)) ?? 0) + row.requests);
  return (
    <SortedTable
      id="served"
      label="Who answered for whom"
      columns={[
        { name: "Called first", by: (row) => wordsOf(row.requested) },
        { name: "Answered", by: (row) => row.served === null ? null : wordsOf(row.served) },
        { name: "Requests", num: true, by: (row) => row.requests },
        { name: "Share", num: true, by: (row) => row.requests / called.get(wordsOf(row.requested))!, title: "Of those that called this model first" },
        { name: "Jobs", num: true, by: (row) => row.jobs },
        { name: "Reason", by: (row) => row.causes.join() },
      ]}
      items={items}
      row={(row) => (
        <tr key={`${wordsOf(row.requested)} ${row.served ? wordsOf(row.served) : ""}`}>
          <td>{visible(wordsOf(row.requested))}</td>
          <td>
            <Answered row={row} />
          </td>
          <td className="num">{count(row.requests)}</td>
          <td className="num">{Math.round((100 * row.requests) / called.get(wordsOf(row.requested))!)} %</td>
          <td className="num">{count(row.jobs)}</td>
          <td>{row.causes.length === 0 ? "–" : row.causes.map((cause) => cause.replaceAll("_", " ")).join(", ")}</td>
        </tr>
      )}
    />
  );
}

function Answered({ row }: { row: Row }) {
  if (row.served === null) return <Tag tone="bad">Failed</Tag>;
  const words = visible(wordsOf(row.served));
  if (wordsOf(row.served) === wordsOf(row.requested)) return <span className="muted">Same model</span>;
  return (
    <Link to="/jobs" search={{ provider: row.served.provider, model: row.served.model, failed_over: "true" } as never} className="plain">
      {words}
    </Link>
  );
}

function wordsOf({ provider, model }: Name): string {
  return `${provider}/${model}`;
}
