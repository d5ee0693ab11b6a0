import { describe, expect, it } from "vitest";
import type { CollectionView, Job, SearchResult } from "../src/api/types";
import { draftOf, inputOf, START } from "../src/features/search/draft";
import { faultOf, filterOf, textOf } from "../src/features/search/filters";
import { compared } from "../src/features/search/wordings";
import { toldConstraint } from "../src/results/constraints";
import { segmentsOf } from "../src/results/segments";
import { stepsOf, wordings } from "../src/results/query-diff";

const result = (...ids: string[]): SearchResult => ({ hits: { items: ids.map((id, index) => ({ id, name: "", score: 1 / (index + 1) })) } }) as unknown as SearchResult;

describe("a passage", () => {
  it("is shown with the words of the question and what is cited marked, counted in characters", () => {
    const text = "\u{1F525} extinguishers hang here. Bye.";
    expect(segmentsOf(text, [{ start: 2, end: 15 }], [{ start: 0, end: 26 }])).toEqual([
      { text: "\u{1F525} ", marked: false, cited: true },
      { text: "extinguishers", marked: true, cited: true },
      { text: " hang here.", marked: false, cited: true },
      { text: " Bye.", marked: false, cited: false },
    ]);
    expect(segmentsOf("", [], [])).toEqual([{ text: "", marked: false, cited: false }]);
  });
});

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

describe("filters as they are typed", () => {
  it("become values of their field's type, and are written so again", () => {
    const written: [string, Parameters<typeof filterOf>[1], unknown][] = [
      ["web", "keyword", "web"],
      ["2026", "keyword", "2026"],
      ['["web","db"]', "keyword", ["web", "db"]],
      ["[draft", "text", "[draft"],
      ["2026", "integer", 2026],
      ["5, 7", "integer", [5, 7]],
      ["1..9", "float", { gte: 1, lte: 9 }],
      ["> 1 < 2.5", "integer", { gt: 1, lt: 2.5 }],
      ["true", "bool", true],
      ["2026-01-01..2026-02-01", "datetime", { gte: "2026-01-01", lte: "2026-02-01" }],
      ["2026-01-01T10:00:00Z", "datetime", "2026-01-01T10:00:00Z"],
      ["null", "keyword", null],
      ["!= web", "keyword", { not: "web" }],
      ["!= null", "integer", { not: null }],
      ["!= 1..9", "integer", { not: { gte: 1, lte: 9 } }],
      ["we*", "keyword", { prefix: "we" }],
      ["5 km of 47.37, -8.54", "geo", { within_km: 5, of: [47.37, -8.54] }],
      ['{"gte":1,"not":5}', "integer", { gte: 1, not: 5 }],
    ];
    for (const [text, type, value] of written) {
      expect(filterOf(text, type)).toEqual({ value });
      expect(textOf(value)).toBe(text);
    }
  });

  it("that fit no field of the type are faults, and nothing is not a filter", () => {
    for (const [text, type] of [["5.5", "integer"], ["1..", "integer"], ["yes", "bool"], ["soon", "datetime"], [">", "float"], ["!=", "keyword"], ["!= x", "integer"], ["5 km", "geo"]] as const) {
      expect(faultOf(text, type)).toMatch(/^Write /);
    }
    expect(filterOf("  ", "integer")).toBeNull();
  });

  it("of each query are typed by its own table, and a past search comes back as it was", () => {
    const tables = { talks: { fields: { year: "integer" } }, notes: { fields: { year: "keyword" } } };
    const collection = { name: "c", tables } as unknown as CollectionView;
    const plan = ["talks", "notes"].map((table) => ({ table, search_mode: "faceted", query_text: "q", limit: 5, score_threshold: null, filters: { year: table === "talks" ? 2026 : "2026" } }));
    const filters = { or: [{ year: 2026 }, { not: { year: null } }] };
    const input = { collection: "c", question: "q", plan, filters, answer: false, reflection: true, relax_filters: true };
    expect(inputOf(draftOf({ input } as unknown as Job, START), collection)).toEqual(input);
  });
});

describe("the queries of an attempt", () => {
  const query = (more: object): object => ({ table: "talks", search_mode: "master", query_text: "boil an egg", limit: 10, score_threshold: 0.5, filters: {}, ...more });
  const attempts = (...queries: object[][]): SearchResult["attempts"] => queries.map((each, index) => ({ number: index + 1, queries: each })) as unknown as SearchResult["attempts"];

  it("show what they changed of the most alike of the last attempt that queried their table", () => {
    const first = [query({ filters: { track: "web" } }), query({ query_text: "cook" }), query({ table: "notes" })];
    const last = [query({ query_text: "cook", score_threshold: 0.3 }), query({ filters: { year: { gte: 5 } } }), query({ table: "books" })];
    expect(stepsOf(attempts(first, [query({ table: "notes" })], last), 2)).toEqual([
      { since: 1, changes: [{ what: "threshold", before: "0.500", after: "0.300" }] },
      { since: 1, changes: [{ what: "filter track", before: "web", after: null }, { what: "filter year", before: null, after: '{"gte":5}' }] },
      { since: null, changes: [] },
    ]);
  });

  it("show the value of a constraint, as the last query of its table had it", () => {
    const asked = attempts([query({ filters: { track: "web", year: { gte: 5 } } })], [query({ table: "notes", filters: { track: "x" } })]);
    const told = ["track", "year", "score_threshold", "place"].map((constraint) => toldConstraint(asked, { table: "talks", constraint, hits_without: 0, suggestions: [] }));
    expect(told).toEqual(["track = web", 'year = {"gte":5}', "score at least 0.500", "place"]);
  });

  it("differ by runs of words", () => {
    expect(wordings("how to boil an egg", "boil an ostrich egg")).toEqual([
      { sign: "-", text: "how to" },
      { sign: " ", text: "boil an" },
      { sign: "+", text: "ostrich" },
      { sign: " ", text: "egg" },
    ]);
  });
});
