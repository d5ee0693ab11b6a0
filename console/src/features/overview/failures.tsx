import { Link } from "@tanstack/react-router";
import { visible } from "../../shared/code/ansi";
import { titleOf } from "../../shared/page/title";
import { count } from "../../shared/values/numbers";
import { When } from "../../shared/values/time";
import { TableHead } from "../../shared/tables/table-head";
import type { Reason } from "./period";

/** Why jobs failed; `cut` is the number of jobs that were read when older ones were not. */
export function Failures({ reasons, cut }: { reasons: readonly Reason[]; cut: number | null }) {
  const total = reasons.reduce((sum, { jobs }) => sum + jobs, 0);
  const most = Math.max(1, ...reasons.map(({ jobs }) => jobs));
  return (
    <section aria-label="Failures by reason">
      <div className="sec">
        <h2>Failures by reason</h2>
        <span className="muted">
          {count(total)} {cut === null ? "in this period" : `of the newest ${count(cut)} jobs`}
        </span>
        <span className="spacer" />
        <Link to="/jobs" search={{ state: "failed,dead" } as never}>
          View failed jobs
        </Link>
      </div>
      {reasons.length === 0 ? (
        <p className="muted">No job failed in this period.</p>
      ) : (
        <div className="scroll open" tabIndex={0} role="region" aria-label="Reasons of failures">
          <table className="grid-table wide">
            <TableHead columns={["Reason", "Latest job", { name: "Last seen", num: true }, { name: "Jobs", num: true }, ""]} />
            <tbody>
              {reasons.slice(0, 6).map(({ word, code, jobs, latest }) => (
                <tr key={code}>
                  <td>
                    <Link to="/jobs" search={(latest.error ? { error_code: code } : { q: "" }) as never}>
                      {visible(word)}
                    </Link>{" "}
                    <span className="mono muted">{code}</span>
                  </td>
                  <td className="grow clip">
                    <Link to="/jobs/$id" params={{ id: latest.id }}>
                      {visible(titleOf(latest))}
                    </Link>
                  </td>
                  <td className="num muted">
                    <When at={latest.created_at} />
                  </td>
                  <td className="num">{count(jobs)}</td>
                  <td>
                    <span className="meter bad" style={{ width: 96 }}>
                      <i style={{ width: `${(100 * jobs) / most}%` }} />
                    </span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
