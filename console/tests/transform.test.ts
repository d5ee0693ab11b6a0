import { expect, test } from "vitest";
import { driftOf, toldDrift } from "../src/features/transform/drift";

const made = [
  { name: "city", type: "string" as const },
  { name: "amount", type: "int" as const },
  { name: "note", type: "string" as const },
];

test("columns that are gone, of another type or new are told, and those alone", () => {
  const found = [
    { name: "year", type: "int" as const },
    { name: "amount", type: "float" as const },
    { name: "city", type: "string" as const },
  ];
  const drift = driftOf("data", made, found);
  expect(drift.map((each) => `${each.column} ${toldDrift(each)}`)).toEqual(["amount is float and was int", "note is missing", "year is new"]);
  expect(driftOf("data", made, [...made].reverse())).toEqual([]);
});

test("what a missing column has probably become is told with it", () => {
  expect(toldDrift({ data: "data", column: "note", change: "missing", expected: "string", renamed_to: "notes" })).toBe("is missing, probably renamed to notes");
});
