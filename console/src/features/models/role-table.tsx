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
import { took } from "../../shared/values/time";
import { TableHead } from "../../shared/tables/table-head";

type Stats = components["schemas"]["Stats"];

/** What a role is for, as a person says it. */
const NAMES: Readonly<Record<string, string>> = {
  "execution.transform": "Transform",
  "documents.instruction": "Document prompts",
  "documents.generate": "Document code",
  "search.plan": "Search: write queries",
  "search.reflect": "Search: rewrite queries",
  "search.answer": "Search: write the answer",
  "search.evaluate": "Search: check the answer",
  "flows.edit": "Edit flows",
  "stacks.identify": "Detect: name the stack",
};

/** Every role with its models in order; one at a time is edited, below its row. */
export function RoleTable({ roles, editor }: { roles: Readonly<Record<string, readonly Link[]>>; editor: (role: string) => ReactNode }) {
  const [url, change] = useUrl();
  const stats = useQuery({ queryKey: ["stats", "role", "all"], queryFn: () => get<Stats>("/v1/stats", { by: "role", bucket: "all" }), refetchInterval: 30_000 });
  const names = Object.keys(roles);
  return (
    <section aria-label="Roles">
      <div className="sec">
        <h2>Roles</h2>
        <span className="muted">{names.length} roles, last 7 days</span>
      </div>
      <div className="scroll" style={{ maxHeight: "none" }} tabIndex={0} role="region" aria-label="Models of each role">
        <table className="grid-table wide">
          <TableHead columns={["Role", "Models, in order", { name: "Answered", num: true }, { name: "Calls", num: true }, { name: "p50", num: true }, { name: "Cost per call", num: true }, ""]} />
          <tbody>
            {names.map((role) => {
              const row = stats.data?.items.find((each) => each.group === role);
              const open = url.edit === role;
              return (
                <Fragment key={role}>
                  <tr>
                    <td>
                      <span className="medium">{NAMES[role] ?? role}</span>
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
                    <td className="num">{row === undefined || row.calls === 0 ? "–" : `${((100 * (row.calls - row.errors)) / row.calls).toFixed(1)}%`}</td>
                    <td className="num">{count(row?.calls ?? 0)}</td>
                    <td className="num">{took(row?.run_p50)}</td>
                    <td className="num">{row?.cost_usd == null || row.calls === 0 ? "–" : cost(row.cost_usd / row.calls)}</td>
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
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
