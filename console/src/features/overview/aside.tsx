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
import { TableHead } from "../../shared/tables/table-head";

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

/** Who causes the load and what it costs, for administrators. */
export function Tenants({ rows }: { rows: readonly Row[] }) {
  if (rows.length === 0) return null;
  return (
    <section aria-label="Tenants">
      <div className="sec">
        <h2>Tenants</h2>
        <span className="spacer" />
        <Link to="/usage" search={{ by: "tenant" } as never}>
          Usage
        </Link>
      </div>
      <div className="scroll open" tabIndex={0} role="region" aria-label="Jobs by tenant">
        <table className="grid-table wide">
          <TableHead columns={["Tenant", { name: "Jobs", num: true }, { name: "Failed", num: true }, { name: "Spend", num: true }]} />
          <tbody>
            {[...rows]
              .sort((one, other) => (other.jobs ?? 0) - (one.jobs ?? 0))
              .slice(0, 8)
              .map((row) => {
                const share = (row.failed ?? 0) / Math.max(1, row.jobs ?? 0);
                return (
                  <tr key={row.group}>
                    <td className="medium">{visible(row.group ?? "–")}</td>
                    <td className="num">{count(row.jobs)}</td>
                    <td className={`num ${share > 0.05 ? "bad bold" : ""}`}>{(100 * share).toFixed(1)}%</td>
                    <td className="num">{cost(row.cost_usd)}</td>
                  </tr>
                );
              })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
