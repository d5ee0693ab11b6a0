import type { SearchResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { toldConstraint } from "./constraints";
import { TableHead } from "../shared/tables/table-head";

interface Props {
  result: SearchResult;
  /** Runs the search again without a constraint. */
  onWithout?: (table: string, constraint: string) => void;
}

/** A bar per constraint: how many hits there are without it, and a button that runs it so. */
export function WhyEmpty({ result, onWithout }: Props) {
  const reasons = result.why_empty;
  if (reasons.length === 0) return null;
  const most = Math.max(...reasons.map((reason) => reason.hits_without), 1);
  const found = Object.values(result.hits).some((hits) => hits.length > 0);
  const title = found ? `Why nothing was found in ${[...new Set(reasons.map((reason) => visible(reason.table)))].join(", ")}` : "Why it is empty";
  return (
    <section className="panel" aria-label={title}>
      <h3>{title}</h3>
      <table className="grid-table wide wrap">
        <TableHead columns={["Table", "Constraint", "Hits without it"]} />
        <tbody>
          {reasons.map((reason) => (
            <tr key={`${reason.table} ${reason.constraint}`}>
              <td>{visible(reason.table)}</td>
              <td className="mono">
                {visible(toldConstraint(result.attempts, reason))}
                {(reason.suggestions ?? []).length > 0 ? <div className="muted">Similar values: {(reason.suggestions ?? []).map(visible).join(", ")}</div> : null}
              </td>
              <td>
                <span className="bar">
                  <meter min={0} max={most} value={reason.hits_without} aria-label={`${reason.hits_without} hits without ${reason.constraint}`} />
                  {reason.hits_without}
                  {onWithout !== undefined && reason.hits_without > 0 ? (
                    <button type="button" className="link" onClick={() => onWithout(reason.table, reason.constraint)}>
                      Run it without
                    </button>
                  ) : null}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {reasons.every((reason) => reason.hits_without === 0) ? <p className="muted">None of these alone stands in the way: leave out several, or ask in other words.</p> : null}
    </section>
  );
}
