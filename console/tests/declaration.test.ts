import { expect, test } from "vitest";
import { declarationOf } from "../src/features/search/declaration";

test("tables of a form are declared with their facets and fields, without columns that have no name", () => {
  const columns = [
    { name: "topic", use: "facet" },
    { name: " year ", use: "integer" },
    { name: "", use: "text" },
  ] as const;
  expect(declarationOf([{ name: "talks", columns }, { name: "people", columns: [] }])).toEqual({
    talks: { facets: { topic: 1 }, fields: { year: "integer" } },
    people: { facets: {}, fields: {} },
  });
});
