import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { cost, count } from "../../shared/values/numbers";
import { Loaded } from "../../shared/page/loading-states";
import { interval } from "../../shared/values/job-sums";
import { TableHead } from "../../shared/tables/table-head";

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
            <div className="scroll" tabIndex={0} role="region" aria-label="Tenants">
              <table className="grid-table wide">
                <TableHead
                  columns={[
                    "Tenant",
                    { name: "Jobs", num: true },
                    { name: "Success (95 %, n)", num: true },
                    { name: "Calls", num: true },
                    { name: "Tokens", num: true },
                    { name: "Cost", num: true },
                  ]}
                />
                <tbody>
                  {items.map((row) => (
                    <tr key={row.group}>
                      <td>{visible(row.group)}</td>
                      <td className="num">{count(row.jobs)}</td>
                      <td className="num">{interval(row)}</td>
                      <td className="num">{count(row.calls)}</td>
                      <td className="num">{count(row.input_tokens + row.output_tokens)}</td>
                      <td className="num">{cost(row.cost_usd)}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}
