import type { SearchResult } from "../api/types";
import { changes, type DiffLine } from "../shared/code/diff";

type Attempt = SearchResult["attempts"][number];
export type ExecutedQuery = Attempt["queries"][number];
/** A query that can be run again: of the plan, or one that was run. */
export type PlannedQuery = SearchResult["original_plan"][number] | ExecutedQuery;

export interface QueryChange {
  /** "text", "mode", "threshold", "limit", or the filter's field. */
  what: string;
  before: string | null;
  after: string | null;
}

export interface QueryStep {
  /** The attempt that the query takes up; null when none before it queried this table. */
  since: number | null;
  changes: QueryChange[];
}

/** Of each query of an attempt, what it changed of the one that it takes up: of the last attempt that queried its table, the most alike. */
export function stepsOf(attempts: readonly Attempt[], index: number): QueryStep[] {
  const taken = new Set<ExecutedQuery>();
  return attempts[index]!.queries.map((query) => {
    const before = attempts.slice(0, index).findLast((attempt) => attempt.queries.some((each) => each.table === query.table));
    const [nearest] = (before?.queries ?? [])
      .filter((each) => each.table === query.table && !taken.has(each))
      .map((each) => ({ each, changes: changesOf(each, query) }))
      .sort((one, other) => one.changes.length - other.changes.length);
    if (nearest === undefined) return { since: null, changes: [] };
    taken.add(nearest.each);
    return { since: before!.number, changes: nearest.changes };
  });
}

export function changesOf(before: ExecutedQuery, after: ExecutedQuery): QueryChange[] {
  const parts = (query: ExecutedQuery): [string, string][] => [
    ["text", query.query_text],
    ["mode", query.search_mode],
    ["threshold", query.score_threshold?.toFixed(3) ?? "default"],
    ["limit", String(query.limit)],
  ];
  const plain = parts(after).map(([what, value], place) => ({ what, before: parts(before)[place]![1], after: value }));
  const fields = [...new Set([...Object.keys(before.filters), ...Object.keys(after.filters)])];
  const filters = fields.map((what) => ({ what: `filter ${what}`, before: written(before.filters[what]), after: written(after.filters[what]) }));
  return [...plain, ...filters].filter((change) => change.before !== change.after);
}

function written(value: unknown): string | null {
  return value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value);
}

/** Two wordings as runs of words: of both, of the first alone, of the second alone. */
export function wordings(before: string, after: string): Pick<DiffLine, "sign" | "text">[] {
  const runs: Pick<DiffLine, "sign" | "text">[] = [];
  for (const { sign, text } of changes(before.split(/\s+/).join("\n"), after.split(/\s+/).join("\n"))) {
    const last = runs.at(-1);
    if (last?.sign === sign) last.text += ` ${text}`;
    else runs.push({ sign, text });
  }
  return runs;
}
