import { describe, expect, test } from "vitest";
import { LARGEST, linesOf, sizeOf, SMALL, Tree } from "../src/shared/json/json-lines";

const NONE: ReadonlySet<string> = new Set();
const value = { name: "a", rows: [{ n: 1 }, { n: 2 }], none: {} };

describe("a value as a tree", () => {
  test("has a line for each of its parts, in order, with what it holds", () => {
    expect(linesOf(value, NONE).map(({ depth, text, open }) => [depth, text, open])).toEqual([
      [0, "{3}", true],
      [1, 'name: "a"', null],
      [1, "rows: [2]", true],
      [2, "0: {1}", true],
      [3, "n: 1", null],
      [2, "1: {1}", true],
      [3, "n: 2", null],
      [1, "none: {0}", null],
    ]);
  });
  test("is closed at one place, also where names have dots", () => {
    const dotted = { "a.b": { c: 1 }, a: { b: { c: 2 } } };
    const path = linesOf(dotted, NONE).find(({ text }) => text === "a.b: {1}")!.path;
    expect(linesOf(dotted, new Set([path])).map(({ text }) => text)).toEqual(["{2}", "a.b: {1}", "a: {1}", "b: {1}", "c: 2"]);
  });
  test("may be deep, and its head costs no more than the head", () => {
    let deep: unknown = 0;
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep];
    expect(linesOf(deep, NONE, 10)).toHaveLength(10);
    expect(linesOf(Array.from({ length: 1_000_000 }, () => 0), NONE, 500)).toHaveLength(500);
  });
  test("clips a long text and says so", () => {
    const [line] = linesOf("x".repeat(9_000_000), NONE);
    expect(line!.text.length).toBeLessThan(21_000);
    expect(line!.text).toContain("8980000 more characters");
  });
});

describe("a large value", () => {
  test("is given part by part, and searched", () => {
    const tree = new Tree({ rows: Array.from({ length: 30_000 }, (_, index) => `row ${index}`) });
    const part = tree.part({ closed: NONE, wanted: "", from: 10_000, count: 2 });
    expect([part.total, part.lines.map(({ text }) => text)]).toEqual([30_002, ['9998: "row 9998"', '9999: "row 9999"']]);
    expect(tree.part({ closed: NONE, wanted: "ROW 2999", from: 0, count: 100 }).total).toBe(11);
    expect(tree.part({ closed: new Set(["$"]), wanted: "", from: 0, count: 100 }).lines.map(({ text }) => text)).toEqual(["{1}"]);
  });
  test("is distinguished from a small one without being written out", () => {
    const rows = (count: number) => Array.from({ length: count }, (_, index) => ({ index, text: "some words" }));
    for (const each of [rows(10), rows(1000), rows(30_000)]) {
      const [guess, size] = [sizeOf(each, LARGEST), JSON.stringify(each).length];
      expect(guess / size).toBeGreaterThan(0.8);
      expect(guess / size).toBeLessThan(1.4);
    }
    expect(sizeOf(rows(100), SMALL)).toBeLessThan(SMALL);
    expect(sizeOf(rows(1_000_000), LARGEST)).toBeLessThan(LARGEST + 1000);
  });
});
