import { Link } from "@tanstack/react-router";
import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { Empty } from "../../shared/page/loading-states";
import { SortedTable } from "../../shared/tables/sorted-table";
import { words } from "../../shared/values/states";
import { stamp, useTimes } from "../../shared/values/time";
import { COLUMNS, jobsOf } from "./columns";

type Stats = components["schemas"]["Stats"];
type Row = components["schemas"]["StatsRow"];

interface Props {
  stats: Stats;
  rows: readonly Row[];
  /** The names of groups that are ids. */
  names: ReadonlyMap<string, string>;
}

/** A row per group, and on request per day or hour. */
export function Table({ stats, rows, names }: Props) {
  const moment = useMoment(stats);
  if (rows.length === 0) return <Empty title="No jobs in this period">Jobs, tokens, cost, attempts and success will appear here.</Empty>;
  const time = { name: words(stats.bucket), by: (row: Row) => row.at };
  return (
    <SortedTable
      id="sums"
      label="Sums"
      frame="tall"
      columns={[...(stats.bucket === "all" ? [] : [time]), { name: words(stats.by), by: (row: Row) => names.get(row.group) ?? row.group }, ...COLUMNS.map(({ title, hint, by }) => ({ name: title, num: true, title: hint, by }))]}
      items={rows}
      row={(row) => (
        <tr key={`${row.at} ${row.group}`}>
          {stats.bucket === "all" ? null : <td className="mono">{moment(row.at)}</td>}
          <td>
            <Group by={stats.by} group={row.group} name={names.get(row.group)} />
          </td>
          {COLUMNS.map(({ title, text }) => (
            <td key={title} className="num">
              {text(row)}
            </td>
          ))}
        </tr>
      )}
    />
  );
}

function Group({ by, group, name }: { by: string; group: string; name: string | undefined }) {
  const filter = jobsOf(by, group);
  if (filter === null) return <span title={name === undefined ? undefined : group}>{visible(name ?? (group || "none"))}</span>;
  return (
    <Link to="/jobs" search={filter as never} className="plain">
      {visible(group)}
    </Link>
  );
}

/** Days are universal ones, as the server's are; hours as the switch of all times says. */
export function useMoment({ bucket }: Pick<Stats, "bucket">): (at: string) => string {
  const [times] = useTimes();
  if (bucket === "day") return (at) => at.slice(0, 10);
  return (at) => stamp(new Date(at), times === "local" ? "local" : "UTC");
}
