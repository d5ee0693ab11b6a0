import type { SearchResult } from "../../api/types";

export interface Place {
  /** From 1, within its table. */
  rank: number;
  score: number;
}

/** A record that one of two wordings hit, or both. */
export interface Compared {
  table: string;
  id: string;
  name: string;
  first: Place | null;
  second: Place | null;
}

/** Hits of both by their better rank; of equal ranks what both hit is first. */
export function compared(first: SearchResult, second: SearchResult): Compared[] {
  const rows = new Map<string, Compared>();
  for (const [side, result] of [["first", first], ["second", second]] as const) {
    for (const [table, hits] of Object.entries(result.hits)) {
      hits.forEach((hit, index) => {
        const key = JSON.stringify([table, hit.id]);
        const row = rows.get(key) ?? { table, id: hit.id, name: hit.name || hit.id, first: null, second: null };
        rows.set(key, { ...row, [side]: { rank: index + 1, score: hit.score } });
      });
    }
  }
  const best = (row: Compared): number => Math.min(row.first?.rank ?? Infinity, row.second?.rank ?? Infinity);
  const sides = (row: Compared): number => Number(row.first !== null) + Number(row.second !== null);
  return [...rows.values()].sort((a, b) => best(a) - best(b) || sides(b) - sides(a) || a.id.localeCompare(b.id));
}
