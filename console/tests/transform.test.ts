import { describe, expect, it, test } from "vitest";
import type { Iteration, Job } from "../src/api/types";
import { draftOf, jobOf, START } from "../src/features/transform/draft";
import { typed } from "../src/features/transform/input-table";
import { compared, comparedAttempt, type Rows } from "../src/results/attempt-diff";
import { readAs } from "../src/shared/files/reading";
import { driftOf, toldDrift } from "../src/features/transform/drift";

const made = [
  { name: "city", type: "string" as const },
  { name: "amount", type: "int" as const },
  { name: "note", type: "string" as const },
];

test("columns that are gone, of another type or new are reported, and those alone", () => {
  const found = [
    { name: "year", type: "int" as const },
    { name: "amount", type: "float" as const },
    { name: "city", type: "string" as const },
  ];
  const drift = driftOf("data", made, found);
  expect(drift.map((each) => `${each.column} ${toldDrift(each)}`)).toEqual(["amount is float and was int", "note is missing", "year is new"]);
  expect(driftOf("data", made, [...made].reverse())).toEqual([]);
});

test("what a missing column has probably become is reported with it", () => {
  expect(toldDrift({ data: "data", column: "note", change: "missing", expected: "string", found: null, renamed_to: "notes" })).toBe("is missing, probably renamed to notes");
});

const table = (columns: string[], rows: unknown[][], total = rows.length): Rows => ({ columns: columns.map((name) => ({ name })), rows, total });
const attempt = (number: number, rows: unknown[][] | null): Iteration =>
  ({ number, code: "x", outcome: "result", message: "", seconds: 0, table: rows === null ? null : { columns: [{ name: "id", type: "int" }, { name: "n", type: "int" }], rows, row_count: rows.length, file_id: null } }) as unknown as Iteration;

describe("an attempt's table", () => {
  it("is compared with the last attempt that came to one, else with the input", () => {
    const attempts = [attempt(1, [[1, 5]]), attempt(2, null), attempt(3, [[1, 6], [2, 7]])];
    expect(comparedAttempt(attempts, 2, null)).toMatchObject({ from: "attempt 1", by: "key", key: "id", changed: 1, added: 1, dropped: 0 });
    expect(comparedAttempt(attempts, 1, null)).toBeNull();
    expect(comparedAttempt(attempts, 0, null)).toBeNull();
    expect(comparedAttempt(attempts, 0, typed("data", "id,n\n1,5.0\n"))).toMatchObject({ from: "data", changed: 0, added: 0, dropped: 0 });
  });

  it("reports nothing about rows below the cut of a long table", () => {
    const whole = table(["id"], [[1], [2], [3]]);
    expect(compared(whole, table(["id"], [[1], [4]], 100), "data")).toMatchObject({ added: 1, dropped: 0 });
    expect(compared(table(["id"], [[1], [2]], 100), whole, "data")).toMatchObject({ added: 0, dropped: 0 });
  });

  it("without a key and with other rows differs by its columns only", () => {
    const diff = compared(table(["city", "amount"], [["Oslo", 1], ["Oslo", 1], ["Rome", 2]]), table(["city", "total"], [["Oslo", 2], ["Rome", 2]]), "data");
    expect(diff).toMatchObject({ by: null, changed: 0, added: 0, dropped: 0 });
    expect(diff.columns.map((column) => [column.name, column.state])).toEqual([["city", ""], ["total", "new"], ["amount", "dropped"]]);
    expect(diff.rows[1]!.cells.map((each) => each.after)).toEqual(["Rome", 2, undefined]);
  });
});

describe("the form of a transform", () => {
  it("keeps how its files are to be read", () => {
    const data = [{ name: "data", fileId: "f", csv: null, label: "a.csv", head: null, reading: { header_row: 3, delimiter: ";" } }];
    const job = jobOf({ ...START, data });
    expect(job).toMatchObject({ input: { data: [{ name: "data", file_id: "f", header_row: 3, delimiter: ";" }] } });
    expect(draftOf(job as never).data[0]!.reading).toEqual({ header_row: 3, delimiter: ";" });
  });
  it("says how a file was read in a line", () => {
    expect(readAs({ format: "csv", encoding: "windows-1252", delimiter: ";", header_row: 2, decimal: ",", sheet: null, sheets: [] })).toBe("Text table, windows-1252, semicolon, names in row 2, decimal comma");
    expect(readAs({ format: "excel", encoding: null, delimiter: null, header_row: 0, decimal: null, sheet: "Q1", sheets: ["Q1"] })).toBe("Workbook, sheet Q1, no column names");
  });
  it("requests a model and a budget, and a past job comes back with both", () => {
    const job = jobOf({ ...START, task: "t", model: "groq/one", seconds: 60 }, { conversation_id: "c", branch: { job_id: "j", iteration: 2 } });
    expect(job).toMatchObject({ kind: "transform", model: "groq/one", budget: { seconds: 60 }, conversation_id: "c", input: { task: "t", branch: { job_id: "j", iteration: 2 } } });
    expect(job.input).not.toHaveProperty("conversation_id");
    expect(jobOf(START)).not.toHaveProperty("model");
    const past = { input: job.input, budget: { seconds: 60 }, overrides: { model: "groq/one" } } as unknown as Job;
    expect(draftOf(past)).toMatchObject({ model: "groq/one", seconds: 60, tokens: null });
  });
});
