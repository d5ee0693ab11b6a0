import { expect, it } from "vitest";
import { groupsOf } from "../src/shared/values/prompt-groups";

it("prompts are listed by the role that uses them, and the rest of a service by itself", () => {
  const prompts = ["search.plan", "search.plan_again", "search.plans", "flows.edit", "flows.notes"].map((key) => ({ key }));
  const groups = groupsOf(prompts, ["search.plan", "flows.edit", "search.answer"]).map(([group, of]) => [group, of.map((each) => each.key)]);
  expect(groups).toEqual([
    ["flows", ["flows.notes"]],
    ["flows.edit", ["flows.edit"]],
    ["search", ["search.plans"]],
    ["search.plan", ["search.plan", "search.plan_again"]],
  ]);
});
