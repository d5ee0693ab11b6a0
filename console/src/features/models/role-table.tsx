import { useQuery } from "@tanstack/react-query";
import { ChevronRight, Pencil } from "lucide-react";
import { Fragment, type ReactNode } from "react";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import type { Link } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { useUrl } from "../../shared/page/url";
import { Icon } from "../../shared/values/icon";
import { cost, count } from "../../shared/values/numbers";
import { ROLE_NAMES } from "../../shared/values/role-names";
import { took } from "../../shared/values/time";
import { SortedTable } from "../../shared/tables/sorted-table";

type Stats = components["schemas"]["Stats"];
type Row = components["schemas"]["StatsRow"];

/** Every role with its models in order; one at a time is edited, below its row. */
export function RoleTable({ roles, editor }: { roles: Readonly<Record<string, readonly Link[]>>; editor: (role: string) => ReactNode }) {
  const [url, change] = useUrl();
  const stats = useQuery({ queryKey: ["stats", "role", "all"], queryFn: () => get<Stats>("/v1/stats", { by: "role", bucket: "all" }), refetchInterval: 30_000 });
  const names = Object.keys(roles);
  const sums = new Map(stats.data?.items.map((each) => [each.group, each]));
  return (
    <section aria-label="Roles">
      <div className="sec">
        <h2>Roles</h2>
        <span className="muted">{names.length} roles, last 7 days</span>
      </div>
      <SortedTable
        id="roles"
        label="Models of each role"
        height="none"
        columns={[
          { name: "Role", by: (row) => ROLE_NAMES[row] ?? row },
          "Models, in order",
          { name: "Answered", num: true, by: (row) => answered(sums.get(row)) },
          { name: "Calls", num: true, by: (row) => sums.get(row)?.calls ?? 0 },
          { name: "p50", num: true, by: (row) => sums.get(row)?.run_p50 },
          { name: "Cost per call", num: true, by: (row) => costOf(sums.get(row)) },
          "",
        ]}
        items={names}
        row={(role) => {
          const row = sums.get(role);
          const share = answered(row);
            const open = url.edit === role;
          return (
            <Fragment key={role}>
              <tr>
                <td>
                  <span className="medium">{ROLE_NAMES[role] ?? role}</span>
                  <span className="sub mono">{role}</span>
                </td>
                <td>
                  <span className="trail">
                    {roles[role]!.map((link, index) => (
                      <Fragment key={index}>
                        {index > 0 ? <Icon of={ChevronRight} size={14} /> : null}
                        <span className="mono">
                          <span className="muted">{visible(link.provider)}/</span>
                          {visible(link.model)}
                        </span>
                      </Fragment>
                    ))}
                  </span>
                </td>
                <td className="num">{share === null ? "–" : `${(100 * share).toFixed(1)}%`}</td>
                <td className="num">{count(row?.calls ?? 0)}</td>
                <td className="num">{took(row?.run_p50)}</td>
                <td className="num">{cost(costOf(row))}</td>
                <td className="actions">
                  <button type="button" className="link" aria-expanded={open} aria-label={`${open ? "Close" : "Edit"} ${role}`} onClick={() => change({ edit: open ? null : role })}>
                    <Icon of={Pencil} size={14} /> {open ? "Close" : "Edit"}
                  </button>
                </td>
              </tr>
              {open ? (
                <tr className="opened">
                  <td colSpan={7}>{editor(role)}</td>
                </tr>
              ) : null}
            </Fragment>
          );
        }}
      />
    </section>
  );
}

/** The share of a role's calls that were answered. */
function answered(row: Row | undefined): number | null {
  return row === undefined || row.calls === 0 ? null : (row.calls - row.errors) / row.calls;
}

function costOf(row: Row | undefined): number | null {
  return row?.cost_usd == null || row.calls === 0 ? null : row.cost_usd / row.calls;
}
