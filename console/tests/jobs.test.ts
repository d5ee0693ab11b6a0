import { describe, expect, it } from "vitest";
import type { Job } from "../src/api/types";
import { gridOf, keptOf, shownOf, sized } from "../src/features/jobs/columns";
import { countsOf } from "../src/features/jobs/counts-of";
import { fits, queryOf } from "../src/features/jobs/filters";
import { BY, NEWEST, nextOf } from "../src/features/jobs/row";
import { sorted } from "../src/shared/tables/sorting";

describe("columns of the list of jobs", () => {
  it("are all shown where nothing is kept, or nothing that can be read", () => {
    for (const text of [null, "", "{", "3", '{"hidden": 1, "widths": []}']) expect(shownOf(keptOf(text))).toHaveLength(8);
  });

  it("are hidden and sized as kept, except what a row needs and sizes that are none", () => {
    const kept = keptOf('{"hidden": ["Cost", "Task", "Model", "Other"], "widths": {"Type": 120, "Duration": 1, "Created": "9"}}');
    expect(shownOf(kept)).toEqual(["State", "Task", "Type", "Attempts", "Duration", "Created"]);
    expect(gridOf(kept)).toBe("24px 124px minmax(140px, 1fr) 120px 60px 96px 88px 24px");
  });
});

describe("widths of columns", () => {
  it("are kept when one drags them, and left to the list again", () => {
    const wide = sized({ hidden: [], widths: {} }, "Type", 150);
    expect(gridOf(wide)).toContain("minmax(140px, 1fr) 150px");
    expect(sized(wide, "Type", null).widths).toEqual({});
    expect(sized(wide, "Type", 3).widths).toEqual({});
  });
});

describe("the order of the list of jobs", () => {
  it("is that of the server, the newest first, until one sorts, and is so again after the last click", () => {
    expect(nextOf(NEWEST, "Created")).toEqual({ name: "Created", down: false });
    expect(nextOf({ name: "Created", down: false }, "Created")).toBe(null);
    const first = nextOf(NEWEST, "Duration");
    expect([first, nextOf(first!, "Duration"), nextOf({ name: "Duration", down: false }, "Duration")]).toEqual([{ name: "Duration", down: true }, { name: "Duration", down: false }, null]);
    expect(nextOf(NEWEST, "Task")).toEqual({ name: "Task", down: false });
  });

  it("has a value for each column, and what has none comes last", () => {
    const job = (seconds: number | null, cost: number | null): Job =>
      ({ kind: "execute", state: "succeeded", title: "t", created_at: "2026-01-01T00:00:00Z", started_at: "2026-01-01T00:00:00Z", finished_at: seconds === null ? null : `2026-01-01T00:00:0${seconds}Z`, usage: { cost_usd: cost } }) as unknown as Job;
    const jobs = [job(3, null), job(null, 0.5), job(9, 0.25)];
    expect(sorted(jobs, BY.Duration, true).map(BY.Duration)).toEqual([9, 3, null]);
    expect(sorted(jobs, BY.Cost, false).map(BY.Cost)).toEqual([0.25, 0.5, null]);
    expect(BY.State(jobs[0]!)).toBe("Succeeded");
  });
});

describe("the filter of the list of jobs", () => {
  const job = (state: string, more: object = {}) => ({ kind: "execute", state, ...more }) as Job;

  it("by an outcome has every failure in one, whatever the state of the job is", () => {
    const wanted = queryOf({ outcome: "Failed" }).outcome as string[];
    expect(wanted).toEqual(expect.arrayContaining(["failed", "dead", "user_error", "timeout_wall", "memory", "block_failed"]));
    expect(wanted.some((outcome) => ["ok", "done", "unverified", "succeeded", "question"].includes(outcome))).toBe(false);
    expect(queryOf({ outcome: "providers_failed" }).outcome).toEqual(["providers_failed"]);
    expect([job("failed"), job("succeeded", { verdict: "timeout_wall" }), job("succeeded", { verdict: "ok" }), job("running")].map((each) => fits({ outcome: "Failed" }, each))).toEqual([true, true, false, false]);
    expect(fits({ outcome: "providers_failed" }, job("failed", { error: { code: "providers_failed" } }))).toBe(true);
  });

  it("by time is the last hours, or from one time to another", () => {
    const hours = queryOf({ hours: "24" });
    expect(Date.now() - Date.parse(hours.created_after as string)).toBeGreaterThan(23.9 * 3_600_000);
    const between = queryOf({ hours: "between", from: "2026-03-01T10:00", to: "2026-03-01T12:00" });
    expect(Date.parse(between.created_before as string) - Date.parse(between.created_after as string)).toBe(2 * 3_600_000);
    expect(queryOf({ from: "soon" }).created_after).toBe(undefined);
  });
});

describe("the counts above the list of jobs", () => {
  const items = [
    { state: "queued", jobs: 1, more: false },
    { state: "running", jobs: 2, more: false },
    { state: "succeeded", jobs: 5, more: false },
    { state: "failed", jobs: 1, more: false },
    { state: "cancelled", jobs: 1, more: false },
  ] as Parameters<typeof countsOf>[0]["items"];

  it("are by outcome, so that a program that failed is among the failures", () => {
    const of = countsOf({ items, outcomes: { queued: 1, running: 2, ok: 1, done: 1, unverified: 1, timeout_wall: 1, question: 1, budget_spent: 1, cancelled: 1 } });
    expect(Object.fromEntries(Object.entries(of).map(([name, { jobs }]) => [name, jobs]))).toEqual({ All: 10, Active: 3, Done: 2, Unverified: 1, "Needs an answer": 1, Failed: 2, Canceled: 1 });
    expect(Object.values(of).some(({ more }) => more)).toBe(false);
  });

  it("say that there are more where results of older jobs were not read", () => {
    const of = countsOf({ items: [{ state: "succeeded", jobs: 1000, more: true }] as typeof items, outcomes: { ok: 900, memory: 100 } });
    expect([of.Done, of.Failed, of.Active]).toEqual([{ jobs: 900, more: true }, { jobs: 100, more: true }, { jobs: 0, more: false }]);
  });
});
