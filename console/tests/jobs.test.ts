import { describe, expect, it } from "vitest";
import { gridOf, keptOf, shownOf } from "../src/features/jobs/columns";

describe("columns of the list of jobs", () => {
  it("are all shown where nothing is kept, or nothing that can be read", () => {
    for (const text of [null, "", "{", "3", '{"hidden": 1, "widths": []}']) expect(shownOf(keptOf(text))).toHaveLength(8);
  });

  it("are hidden and sized as kept, except what a row needs and sizes that are none", () => {
    const kept = keptOf('{"hidden": ["Cost", "Task", "Model", "Other"], "widths": {"Type": 120, "Duration": 1, "Created": "9"}}');
    expect(shownOf(kept)).toEqual(["State", "Task", "Type", "Attempts", "Duration", "Created"]);
    expect(gridOf(kept)).toBe("24px 124px minmax(140px, 1fr) 120px 60px 96px 88px");
  });
});
