import { describe, expect, it } from "vitest";
import type { SearchResult } from "../src/api/types";
import { compared } from "../src/features/search/wordings";

const result = (...ids: string[]): SearchResult => ({ hits: { items: ids.map((id, index) => ({ id, name: "", score: 1 / (index + 1) })) } }) as unknown as SearchResult;

describe("two wordings", () => {
  it("are compared record by record: what both hit first, and what only one has", () => {
    const rows = compared(result("a", "b"), result("c", "b"));
    expect(rows.map(({ id, first, second }) => [id, first?.rank ?? null, second?.rank ?? null])).toEqual([
      ["a", 1, null],
      ["c", null, 1],
      ["b", 2, 2],
    ]);
  });

  it("that hit nothing have no rows", () => {
    expect(compared(result(), result())).toEqual([]);
  });
});
