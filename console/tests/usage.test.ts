import { describe, expect, it } from "vitest";
import { csvOf, dearest, jobsOf, newest } from "../src/features/usage/columns";
import { pointsOf } from "../src/features/usage/measures";
import type { components } from "../src/api/schema";
import { changeWords, sumsOf } from "../src/features/usage/sums";
import { interval, turns } from "../src/shared/values/job-sums";

type Row = components["schemas"]["StatsRow"];

const ROW = { at: "2026-11-24T00:00:00Z", group: "groq/m", jobs: 2, succeeded: 1, failed: 1, turns_jobs: 1, calls: 3, errors: 1, input_tokens: 10, output_tokens: 5, unpriced: 0 };

describe("rows of the usage", () => {
  it("show success with its interval and of how many, and nothing of none", () => {
    expect(interval({ succeeded: 8, failed: 2 })).toBe("80 % (49–94, 10)");
    expect(interval({ succeeded: 0, failed: 0 })).toBe("–");
  });

  it("show the mean and the median of turns, and of how many jobs", () => {
    expect(turns({ turns_mean: 1.4667, turns_p50: 1, turns_jobs: 15 })).toBe("1.5 / 1 (15)");
    expect(turns({ turns_mean: null, turns_p50: null, turns_jobs: 0 })).toBe("–");
  });

  it("have the dearest first, and those without a cost by their calls", () => {
    const rows = [{ ...ROW, group: "few", calls: 1 }, { ...ROW, group: "many" }, { ...ROW, group: "dear", cost_usd: 0.1 }];
    expect(dearest(rows).map((row) => row.group)).toEqual(["dear", "many", "few"]);
    const days = [{ ...ROW, at: "2026-11-23T00:00:00Z", group: "before", cost_usd: 9 }, ...rows];
    expect(newest(days).map((row) => row.group)).toEqual(["dear", "many", "few", "before"]);
  });

  it("lead to their jobs where the list has such a filter", () => {
    expect(jobsOf("model", "groq/openai/gpt-oss-120b")).toEqual({ provider: "groq", model: "openai/gpt-oss-120b" });
    expect(jobsOf("kind", "flow")).toEqual({ kind: "flow" });
    expect([jobsOf("role", "flows.edit"), jobsOf("prompt", "")]).toEqual([null, null]);
  });

  it("are exported whole: what is unknown is empty and never 0, and no cell is a formula", () => {
    const [names, line] = csvOf([{ ...ROW, group: "=1+1" }]).split("\n");
    const cells = Object.fromEntries(names!.split(",").map((name, place) => [name, line!.split(",")[place]]));
    expect(cells).toMatchObject({ group: "'=1+1", jobs: "2", cost_usd: "", errors: "1", turns_jobs: "1" });
  });
});

describe("the chart of the usage", () => {
  const stats = { bucket: "day", since: "2026-11-22T10:00:00Z", until: "2026-11-24T12:00:00Z", items: [{ ...ROW, cost_usd: 0.5 }, { ...ROW, group: "other" }] } as const;

  it("has a point for every day, those without anything too", () => {
    const points = pointsOf({ ...stats, items: [...stats.items] }, undefined, "tokens");
    expect(points.map(({ at, value }) => [at.slice(0, 10), value])).toEqual([["2026-11-22", 0], ["2026-11-23", 0], ["2026-11-24", 30]]);
  });

  it("shows one group alone", () => {
    const of = (group: string): number | undefined => pointsOf({ ...stats, items: [...stats.items] }, group, "cost").at(-1)?.value;
    expect([of("groq/m"), of("other")]).toEqual([0.5, 0]);
  });
});

describe("the figures of a period", () => {
  const row = (more: object): Row => ({ jobs: 1, succeeded: 1, failed: 0, calls: 2, errors: 0, input_tokens: 10, output_tokens: 1, unpriced: 0, cost_usd: null, run_p95: null, ...more }) as unknown as Row;

  it("add up the job types, and have no cost where no call has a price", () => {
    expect(sumsOf([row({ cost_usd: 0.5, run_p95: 3 }), row({ failed: 2, jobs: 3, run_p95: 8 })])).toMatchObject({ jobs: 4, failed: 2, tokens: 22, cost: 0.5, p95: 8 });
    expect(sumsOf([row({})])).toMatchObject({ cost: null, p95: null });
    expect(sumsOf([])).toMatchObject({ jobs: 0, cost: null, p95: null });
  });

  it("are compared with the period before, which may have had none", () => {
    expect([changeWords(11, 10, 7), changeWords(9, 10, 1), changeWords(5, 0, 30), changeWords(null, 1, 7)]).toEqual(["+10.0% vs. the 7 days before", "−10.0% vs. the day before", "none in the 30 days before", "none in the 7 days before"]);
  });
});
