import { expect, test } from "vitest";
import { changes, pairsOf } from "../src/shared/code/diff";

test("lines of two texts are at the same height, and what one lacks is empty there", () => {
  const pairs = pairsOf(changes("a\nb\nc\nd", "a\nx\nc\nd\ne")).map(([left, right]) => [left?.text ?? null, right?.text ?? null]);
  expect(pairs).toEqual([
    ["a", "a"],
    ["b", "x"],
    ["c", "c"],
    ["d", "d"],
    [null, "e"],
  ]);
});
