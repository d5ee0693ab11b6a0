import { describe, expect, it } from "vitest";
import { filesOf } from "../src/features/job/files";
import { shortfall, verdictOf } from "../src/shared/verdict";

describe("files of an input", () => {
  it("are found wherever they stand, each once", () => {
    const input = { data: [{ name: "sales", file_id: "a" }, { name: "typed", csv: "x" }, { name: "again", file_id: "a" }], source: { file_id: "b" }, files: [{ id: "c", path: "in/d.csv" }] };
    expect(filesOf(input).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(filesOf(input).map(({ name }) => name)).toEqual(["again", "file", "in/d.csv"]);
  });

  it("are not what only has an id", () => {
    expect(filesOf({ flow_id: "f", plan: [{ id: "x" }] })).toEqual([]);
    expect(filesOf(null)).toEqual([]);
  });
});

describe("what a result falls short of", () => {
  it("is told in words, and nothing of one that is what was asked for", () => {
    expect(["ok", "done", "found", null].map((verdict) => shortfall(verdict))).toEqual([null, null, null, null]);
    expect(shortfall("timeout_wall")).toBe("timeout wall");
  });

  it("is read of a verdict, a status or a success", () => {
    expect([{ verdict: "user_error" }, { status: "best_so_far" }, { success: false }, { success: true }, {}, null].map((result) => verdictOf(result))).toEqual(["user_error", "best_so_far", "failed", "ok", null, null]);
  });
});
