import { expect, it } from "vitest";
import cases from "../../tests/shared/jobs/titles.json";
import { titleOfInput } from "../src/shared/page/job-title";

it("a job's page has the title that the list has", () => {
  expect(cases.map(({ kind, input }) => titleOfInput(kind, input))).toEqual(cases.map(({ title }) => title));
});
