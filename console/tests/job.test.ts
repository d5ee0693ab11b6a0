import { describe, expect, it } from "vitest";
import type { LlmCall } from "../src/api/types";
import { filesOf } from "../src/features/job/files";
import { requestsOf } from "../src/results/attempts-by-request";

describe("files of an input", () => {
  it("are found anywhere, each once", () => {
    const input = { data: [{ name: "sales", file_id: "a" }, { name: "typed", csv: "x" }, { name: "again", file_id: "a" }], source: { file_id: "b" }, files: [{ id: "c", path: "in/d.csv" }] };
    expect(filesOf(input).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(filesOf(input).map(({ name }) => name)).toEqual(["again", "file", "in/d.csv"]);
  });

  it("are not what only has an id", () => {
    expect(filesOf({ flow_id: "f", plan: [{ id: "x" }] })).toEqual([]);
    expect(filesOf(null)).toEqual([]);
  });
});

describe("the calls of a job", () => {
  const call = (id: number, turn: number, request: string | null): LlmCall => ({ id, turn, role: "r", request }) as LlmCall;
  const ids = (calls: LlmCall[]): (number | null | undefined)[][] => requestsOf(calls).map((each) => each.map(({ id }) => id));

  it("belong together by their request, also when those of another one are between them", () => {
    expect(ids([call(1, 1, "a"), call(2, 1, "b"), call(3, 1, "a"), call(4, 2, "c")])).toEqual([[1, 3], [2], [4]]);
  });

  it("belong together by their turn where they do not say of which request they are", () => {
    expect(ids([call(1, 1, null), call(2, 1, null), call(3, 2, null)])).toEqual([[1, 2], [3]]);
  });
});
