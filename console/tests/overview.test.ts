import { describe, expect, it } from "vitest";
import type { components } from "../src/api/schema";
import type { Job } from "../src/api/types";
import { barsOf, hoursOf, PERIODS, reasonsOf, reasonWords, startOf } from "../src/features/overview/period";

type Row = components["schemas"]["StatsRow"];

const NOW = Date.parse("2026-11-27T12:30:00Z");
const row = (group: string, jobs: number, more: Partial<Row> = {}): Row => ({ at: "2026-11-27T12:00:00Z", group, jobs, failed: 0, ...more }) as Row;

describe("jobs over time", () => {
  it("have every failure on top, with its reasons, whatever the state of the job is", () => {
    const rows = [row("ok", 5), row("done", 2), row("unverified", 1), row("timeout_wall", 2), row("providers_failed", 3, { failed: 3 }), row("running", 1), row("cancelled", 1), row("question", 1)];
    const bar = barsOf(PERIODS["24h"], rows, NOW).at(-1)!;
    expect([bar.done, bar.open, bar.failed, bar.other]).toEqual([7, 1, 5, 3]);
    expect(reasonWords(bar.reasons)).toBe("3 providers failed, 2 timed out");
  });

  it("leave out what is older than the first bar, and add up what is of one", () => {
    const period = PERIODS["1h"];
    const at = (minutes: number): string => new Date(NOW - minutes * 60_000).toISOString();
    const bars = barsOf(period, [row("ok", 1, { at: at(0) }), row("ok", 2, { at: at(0) }), row("ok", 9, { at: at(70) })], NOW);
    expect([bars.length, bars.at(-1)!.done, bars.reduce((sum, bar) => sum + bar.done, 0)]).toEqual([60, 3, 3]);
    expect([startOf(period, NOW) % 60_000, hoursOf(PERIODS["7d"])]).toEqual([0, 168]);
  });
});

describe("why jobs failed", () => {
  const job = (id: string, created_at: string, more: object): Job => ({ id, created_at, ...more }) as Job;

  it("is shown with the number of jobs, what they cost, and the latest of them", () => {
    const rows = [row("ok", 90), row("timeout_wall", 2, { cost_usd: null }), row("providers_failed", 7, { failed: 7, cost_usd: 0.5 }), row("unverified", 4)];
    const jobs = [
      job("a", "2026-11-27T11:00:00Z", { state: "failed", error: { code: "providers_failed", title: "All providers failed" } }),
      job("b", "2026-11-27T12:00:00Z", { state: "failed", error: { code: "providers_failed", title: "All providers failed" } }),
      job("c", "2026-11-27T12:10:00Z", { state: "succeeded", verdict: "ok" }),
    ];
    const reasons = reasonsOf(rows, jobs).map(({ word, code, jobs: number, cost, latest }) => [word, code, number, cost, latest?.id]);
    expect(reasons).toEqual([
      ["All providers failed", "providers_failed", 7, 0.5, "b"],
      ["Timed out", "timeout_wall", 2, null, undefined],
    ]);
  });

  it("is nothing where nothing failed", () => {
    expect(reasonsOf([row("ok", 3), row("not_found", 1), row("running", 1)], [])).toEqual([]);
  });
});
