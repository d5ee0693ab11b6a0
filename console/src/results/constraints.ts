import type { SearchResult } from "../api/types";

type Reason = SearchResult["why_empty"][number];

/** A constraint with its value, as the last query of its table had it: "base = Nothing", "score at least 0.338". */
export function toldConstraint(attempts: SearchResult["attempts"], { table, constraint }: Reason): string {
  const queries = attempts.flatMap((attempt) => attempt.queries).filter((query) => query.table === table);
  if (constraint === "score_threshold") {
    const least = queries.findLast((query) => query.score_threshold != null)?.score_threshold;
    return least === undefined || least === null ? "the least score" : `score at least ${least.toFixed(3)}`;
  }
  const asked = queries.findLast((query) => constraint in query.filters)?.filters[constraint];
  return asked === undefined ? constraint : `${constraint} = ${typeof asked === "string" ? asked : JSON.stringify(asked)}`;
}
