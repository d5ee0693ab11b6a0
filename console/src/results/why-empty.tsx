import type { SearchResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { toldConstraint } from "./constraints";

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
  const title = found ? `Nothing was found in ${[...new Set(reasons.map((reason) => visible(reason.table)))].join(", ")}` : "Why nothing was found";
  return (
    <section className="panel" aria-label={title}>
      <h3>{title}</h3>
      {reasons.map((reason) => (
        <div key={`${reason.table} ${reason.constraint}`} className="why">
          <span>
            Without{" "}
            <b>
              {reason.constraint === "score_threshold" ? "" : "the filter "}
              <code>{visible(toldConstraint(result.attempts, reason))}</code>
            </b>{" "}
            in {visible(reason.table)}: {reason.hits_without} {reason.hits_without === 1 ? "hit" : "hits"}
            {(reason.suggestions ?? []).length > 0 ? <span className="muted"> · similar values: {(reason.suggestions ?? []).map(visible).join(", ")}</span> : null}
          </span>
          <span className="meter" role="img" aria-label={`${reason.hits_without} hits without ${reason.constraint}`}>
            <i style={{ width: `${(100 * reason.hits_without) / most}%` }} />
          </span>
          {onWithout !== undefined && reason.hits_without > 0 ? (
            <button type="button" className="link" onClick={() => onWithout(reason.table, reason.constraint)}>
              Run without it
            </button>
          ) : (
            <span />
          )}
        </div>
      ))}
      {reasons.every((reason) => reason.hits_without === 0) ? <p className="muted">No single filter explains this. Remove several filters or rephrase.</p> : null}
    </section>
  );
}
