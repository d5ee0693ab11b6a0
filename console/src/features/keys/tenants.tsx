import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { cost, count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { interval, successShare } from "../../shared/values/job-sums";
import { SortedTable } from "../../shared/tables/sorted-table";

type Stats = components["schemas"]["Stats"];

/** What each tenant has used in the last week: whose keys do how much. */
export function Tenants() {
  const query = useQuery({ queryKey: ["stats", "tenant", "all"], queryFn: () => get<Stats>("/v1/stats", { by: "tenant", bucket: "all" }), refetchInterval: 30_000 });
  return (
    <section aria-label="Use by tenant">
      <div className="sec">
        <h2>Use by tenant</h2>
        <span className="muted">last 7 days</span>
        <span className="spacer" />
        <Link to="/usage" search={{ by: "tenant" } as never}>
          Usage
        </Link>
      </div>
      <Loaded query={query} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <span className="muted">No jobs yet.</span>
          ) : (
            <SortedTable
              id="tenants"
              label="Tenants"
              columns={[
                { name: "Tenant", by: (row) => row.group },
                { name: "Jobs", num: true, by: (row) => row.jobs },
                { name: "Completed (95 %, n)", num: true, by: (row) => successShare(row) },
                { name: "Calls", num: true, by: (row) => row.calls },
                { name: "Tokens", num: true, by: (row) => row.input_tokens + row.output_tokens },
                { name: "Cost", num: true, by: (row) => row.cost_usd },
              ]}
              items={items}
              row={(row) => (
                <tr key={row.group}>
                  <td>{visible(row.group)}</td>
                  <td className="num">{count(row.jobs)}</td>
                  <td className="num">{interval(row)}</td>
                  <td className="num">{count(row.calls)}</td>
                  <td className="num">{count(row.input_tokens + row.output_tokens)}</td>
                  <td className="num">{cost(row.cost_usd)}</td>
                </tr>
              )}
            />
          )
        }
      </Loaded>
    </section>
  );
}
