import { describe, expect, test } from "vitest";
import type { EvaluationSummary } from "../src/api/types";
import { nextChoice } from "../src/features/evaluation/cell-selection";
import { series } from "../src/features/evaluations/series";
import { tableDiff } from "../src/shared/tables/table-diff";

const columns = [{ name: "city" }, { name: "n" }];

describe("two tables", () => {
  test("rows belong together by a column of unique values, in any order", () => {
    const before = { columns, rows: [["Oslo", 8], ["Rome", 4], ["Bergen", 2]] };
    const after = { columns, rows: [["Rome", 5], ["Oslo", 8.000000000001], ["Turin", 1]] };
    const diff = tableDiff(before, after);
    expect([diff.key, diff.changed, diff.added, diff.dropped]).toEqual(["city", 1, 1, 1]);
    expect(diff.rows.map((row) => row.state)).toEqual(["", "", "new", "dropped"]);
    expect(diff.rows[0]!.cells[1]).toEqual({ before: 4, after: 5, changed: true });
  });

  test("without such a column they belong together by their place; columns come and go", () => {
    const before = { columns, rows: [["a", 1], ["a", 1]] };
    const after = { columns: [{ name: "city" }, { name: "share" }], rows: [["a", 0.5], ["b", 0.5], ["b", 0.5]] };
    const diff = tableDiff(before, after);
    expect(diff.key).toBeNull();
    expect(diff.columns.map((column) => `${column.name}${column.state}`)).toEqual(["city", "sharenew", "ndropped"]);
    expect([diff.changed, diff.added, diff.dropped]).toEqual([1, 1, 0]);
  });

  test("empty tables are the same", () => {
    expect(tableDiff({ columns: [], rows: [] }, { columns: [], rows: [] }).changed).toBe(0);
  });
});

test("the first choice, then the second; a chosen cell is let go, and a third starts again", () => {
  expect(nextChoice(undefined, undefined, "0.1")).toMatchObject({ a: "0.1", b: null });
  expect(nextChoice("0.1", undefined, "0.2")).toMatchObject({ b: "0.2" });
  expect(nextChoice("0.1", "0.2", "0.1")).toMatchObject({ a: "0.2", b: null });
  expect(nextChoice("0.1", "0.2", "3.0")).toMatchObject({ a: "3.0", b: null });
});

test("a suite's history is a line for each variant, or for each model over the versions of its prompt", () => {
  const total = (variant: string, successes: number) => ({ variant, runs: 4, successes, interval: [0, 1] });
  const item = (id: string, at: string, prompt: string, successes: number) =>
    ({ id, created_at: at, variants: [{ name: prompt, model: "groq/a", prompt }], totals: [total(prompt, successes)] }) as unknown as EvaluationSummary;
  const items = [item("c", "2026-03-03T00:00:00Z", "t@2", 4), item("b", "2026-03-02T00:00:00Z", "t@1", 2), item("a", "2026-03-01T00:00:00Z", "t@1", 1)];
  expect(series(items, "time").map((line) => line.points.map((point) => point.id))).toEqual([["a", "b"], ["c"]]);
  const [line] = series(items, "prompt");
  expect(line!.name).toBe("groq/a, t");
  expect(line!.points.map((point) => [point.label, point.share, point.id])).toEqual([["@1", 0.5, "b"], ["@2", 1, "c"]]);
});
