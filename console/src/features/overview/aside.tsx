import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobsPage } from "../../api/queries";
import type { components } from "../../api/schema";
import type { Job } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Loaded } from "../../shared/page/loading-states";
import { titleOf } from "../../shared/page/title";
import { JobMark } from "../../shared/values/marks";
import { cost, count, ordinal } from "../../shared/values/numbers";
import { between, took, useNow, When } from "../../shared/values/time";
import { SortedTable } from "../../shared/tables/sorted-table";

type Row = components["schemas"]["StatsRow"];

/** What runs and waits now, and when nothing does, what ran last. */
export function ActiveNow({ latest }: { latest: readonly Job[] }) {
  const query = useQuery({ queryKey: ["jobs", "active"], queryFn: () => jobsPage({ state: ["running", "queued"], limit: 6 }), refetchInterval: 5_000 });
  return (
    <Loaded query={query} rows={3}>
      {({ items }) => (
        <section aria-label={items.length > 0 ? "Active now" : "Latest jobs"}>
          <div className="sec">
            <h2>{items.length > 0 ? "Active now" : "Latest jobs"}</h2>
            <span className="spacer" />
            <Link to="/jobs">All jobs</Link>
          </div>
          {items.length > 0 ? items.map((job) => <Line key={job.id} job={job} />) : latest.map((job) => <Line key={job.id} job={job} />)}
        </section>
      )}
    </Loaded>
  );
}

function Line({ job }: { job: Job }) {
  const active = job.state === "running" || job.state === "queued";
  const now = useNow(active ? 1000 : 0);
  const since = job.started_at ?? job.created_at;
  return (
    <div className="line-item">
      <JobMark job={job} compact />
      <span className="words">
        <Link to="/jobs/$id" params={{ id: job.id }} className="task">
          {visible(titleOf(job))}
        </Link>
        <span className="sub">
          {job.kind}
          {job.state === "queued" && job.waiting?.position ? ` · ${ordinal(job.waiting.position)} in line` : ""}
        </span>
      </span>
      <span className="muted num">{active ? took(between(since, new Date(now).toISOString())) : <When at={job.created_at} />}</span>
    </div>
  );
}

/** Who causes the load and the failures, and what that costs: tenants for administrators, else the keys of the own tenant. */
export function Users({ of, rows, names }: { of: "tenant" | "key"; rows: readonly Row[]; names: ReadonlyMap<string, string> }) {
  if (rows.length === 0) return null;
  const title = of === "tenant" ? "Tenants" : "Keys";
  const nameOf = (row: Row): string => names.get(row.group) ?? (row.group || "–");
  return (
    <section aria-label={title}>
      <div className="sec">
        <h2>{title}</h2>
        <span className="spacer" />
        <Link to="/usage" search={{ by: of } as never}>
          Usage
        </Link>
      </div>
      <SortedTable
        id="users"
        label={`Jobs by ${of}`}
        frame="open"
        columns={[
          { name: of === "tenant" ? "Tenant" : "Key", by: nameOf },
          { name: "Jobs", num: true, by: (row) => row.jobs },
          { name: "No result", num: true, by: failedShare },
          { name: "Spend", num: true, by: (row) => row.cost_usd },
        ]}
        items={[...rows].sort((one, other) => other.jobs - one.jobs).slice(0, 8)}
        row={(row) => (
          <tr key={row.group}>
            <td className="medium">{visible(nameOf(row))}</td>
            <td className="num">{count(row.jobs)}</td>
            <td className={`num ${failedShare(row) > 0.05 ? "bad bold" : ""}`}>{(100 * failedShare(row)).toFixed(1)}%</td>
            <td className="num">{cost(row.cost_usd)}</td>
          </tr>
        )}
      />
    </section>
  );
}

function failedShare(row: Row): number {
  return (row.failed ?? 0) / Math.max(1, row.jobs);
}
