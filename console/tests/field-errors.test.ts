import { describe, expect, test } from "vitest";
import { Problem } from "../src/api/problem";
import { faultsOf } from "../src/shared/editing/field-errors";

const refused = (...errors: [loc: (string | number)[], msg: string][]): Problem => new Problem(422, "invalid_request", "It does not fit", "", null, errors.map(([loc, msg]) => ({ loc, msg })));

describe("what is wrong with the fields of a form", () => {
  test("is shown at the field that it names, or that holds what it names", () => {
    const faults = faultsOf(refused([["body", "input", "task"], "too short"], [["body", "input", "data", 0, "csv"], "no columns"], [["input", "data", 1], "too large"]), ["input.task", "input.data"]);
    expect([faults.at("input.task"), faults.at("input.data")]).toEqual(["too short", "0.csv: no columns; 1: too large"]);
    expect(faults.rest).toEqual([]);
  });
  test("is listed when the form has no such field, and a name that only begins the same is another field", () => {
    const faults = faultsOf(refused([["body", "input", "tasks"], "unknown"], [["body"], "no object"]), ["input.task"]);
    expect(faults.at("input.task")).toBeUndefined();
    expect(faults.rest).toEqual(["input.tasks: unknown", "no object"]);
  });
  test("goes to the nearest field when one is within another", () => {
    const faults = faultsOf(refused([["body", "source", "git", "x"], "no address"]), ["source", "source.git"]);
    expect([faults.at("source"), faults.at("source.git")]).toEqual([undefined, "x: no address"]);
  });
  test("is nothing for another error, and text of the server turns nothing around", () => {
    expect(faultsOf(new Error("x"), ["a"]).rest).toEqual([]);
    expect(faultsOf(refused([["body", "a"], "b\u202ec"]), ["a"]).at("a")).toBe("b⟦U+202E⟧c");
  });
});
