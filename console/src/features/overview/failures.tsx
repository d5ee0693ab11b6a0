import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobsPage } from "../../api/queries";
import { visible } from "../../shared/code/ansi";
import { SortedTable } from "../../shared/tables/sorted-table";
import { titleOf } from "../../shared/page/title";
import { cost, count } from "../../shared/values/numbers";
import { When } from "../../shared/values/time";
import type { Reason } from "./period";

const SHOWN = 8;

/** Why jobs failed, how often, and what that cost; each leads to its jobs. */
export function Failures({ reasons, hours }: { reasons: readonly Reason[]; hours: number }) {
  const total = reasons.reduce((sum, { jobs }) => sum + jobs, 0);
  const most = Math.max(1, ...reasons.map(({ jobs }) => jobs));
  const since = String(hours);
  return (
    <section aria-label="Failures by reason">
      <div className="sec">
        <h2>Failures by reason</h2>
        <span className="muted">{count(total)} in this period</span>
        <span className="spacer" />
        <Link to="/jobs" search={{ outcome: "Failed", hours: since } as never}>
          View failed jobs
        </Link>
      </div>
      {reasons.length === 0 ? (
        <p className="muted">No job failed in this period.</p>
      ) : (
        <SortedTable
          id="failures"
          label="Reasons of failures"
          frame="open"
          columns={[
            { name: "Reason", by: (reason) => reason.word },
            "Latest job",
            { name: "Last seen", num: true, by: (reason) => reason.latest?.created_at },
            { name: "Spend", num: true, by: (reason) => reason.cost },
            { name: "Jobs", num: true, by: (reason) => reason.jobs },
            "",
          ]}
          items={reasons.slice(0, SHOWN)}
          row={(reason) => <ReasonRow key={reason.code} reason={reason} since={since} most={most} />}
        />
      )}
    </section>
  );
}

/** One reason; its latest job is fetched where it is older than the jobs that the page has read. */
function ReasonRow({ reason: { word, code, jobs, cost: spent, latest: read }, since, most }: { reason: Reason; since: string; most: number }) {
  const older = useQuery({ queryKey: ["overview", "latest", code], queryFn: () => jobsPage({ outcome: [code], limit: 1 }), enabled: read === null, staleTime: 60_000 });
  const latest = read ?? older.data?.items[0] ?? null;
  return (
    <tr>
      <td>
        <Link to="/jobs" search={{ outcome: code, hours: since } as never}>
          {visible(word)}
        </Link>{" "}
        <span className="mono muted">{code}</span>
      </td>
      <td className="grow clip">
        {latest === null ? (
          <span className="muted">–</span>
        ) : (
          <Link to="/jobs/$id" params={{ id: latest.id }}>
            {visible(titleOf(latest))}
          </Link>
        )}
      </td>
      <td className="num muted">{latest === null ? "–" : <When at={latest.created_at} />}</td>
      <td className="num">{cost(spent)}</td>
      <td className="num">{count(jobs)}</td>
      <td>
        <span className="meter bad" style={{ width: 96 }}>
          <i style={{ width: `${(100 * jobs) / most}%` }} />
        </span>
      </td>
    </tr>
  );
}
