import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobsPage } from "../api/queries";
import { WORKBENCHES } from "../app/navigation";
import { visible } from "../shared/code/ansi";
import { titleOf } from "../shared/page/title";
import { SortedTable } from "../shared/tables/sorted-table";
import { JobMark } from "../shared/values/marks";
import { between, took, When } from "../shared/values/time";

const SHOWN = 8;

/** The newest jobs of a type, each of which opens in its workbench: what one finds there before anything was run. */
export function RecentJobs({ kind }: { kind: string }) {
  const query = useQuery({ queryKey: ["jobs", { kind, limit: SHOWN }], queryFn: ({ signal }) => jobsPage({ kind, limit: SHOWN }, signal) });
  if (query.data === undefined || query.data.items.length === 0) return null;
  return (
    <section>
      <div className="sec">
        <h2>Recent</h2>
        <span className="spacer" />
        <Link to="/jobs" search={{ kind } as never}>
          All of them
        </Link>
      </div>
      <SortedTable
        id="recent"
        label="Recent jobs"
        columns={["Task", "State", { name: "Duration", num: true }, { name: "Created", num: true }]}
        items={query.data.items}
        row={(job) => (
          <tr key={job.id}>
            <td className="grow">
              <Link to={WORKBENCHES[kind] as "/"} search={{ job: job.id } as never} className="clip" style={{ display: "block" }}>
                {visible(titleOf(job))}
              </Link>
            </td>
            <td>
              <JobMark job={job} />
            </td>
            <td className="num">{took(between(job.started_at, job.finished_at))}</td>
            <td className="num muted">
              <When at={job.created_at} />
            </td>
          </tr>
        )}
      />
    </section>
  );
}
