import { describe, expect, it } from "vitest";
import { installationHealth, providersHealth } from "../src/app/health";
import type { Capabilities, ProviderState } from "../src/api/types";
import { ATTEMPT_STATES, BLOCK_STATES, CHECK_STATES, failedBlocks, groupOf, JOB_STATES, outcomesOf, outcomeState, providerState, RESULT_STATES, stateOf, verdictOf } from "../src/shared/values/states";

const mark = (result: object | null, state: "succeeded" | "failed" | "running" | "dead" = "succeeded") => {
  const { word, tone } = stateOf({ state, result });
  return `${word}: ${tone}`;
};

describe("the mark of a job", () => {
  it("is that of a failure wherever the code failed, though the job succeeded", () => {
    const verdicts = ["user_error", "signal", "timeout_wall", "timeout_cpu", "memory", "output", "disk", "processes", "rejected"];
    expect(verdicts.map((verdict) => mark({ verdict }))).toEqual([
      "Program error: bad",
      "Program error: bad",
      "Timed out: bad",
      "Timed out: bad",
      "Memory limit: bad",
      "Output limit: bad",
      "Disk limit: bad",
      "Process limit: bad",
      "Rejected: bad",
    ]);
    expect(mark({ success: false })).toBe("No valid result: bad");
  });

  it("of a document is that of its blocks", () => {
    const blocks = (...states: string[]) => ({ blocks: states.map((status) => ({ status })) });
    expect(mark(blocks("ok", "error", "skipped"))).toBe("Block failed: bad");
    expect(failedBlocks(blocks("ok", "error", "skipped"))).toBe("1 of 3 blocks failed");
    expect(mark(blocks("ok", "fresh"))).toBe("Succeeded: good");
    expect(failedBlocks(blocks("ok"))).toBe(null);
  });

  it("is green only where nothing is left open", () => {
    expect([{ status: "done" }, { verdict: "found" }, { verdict: "ok" }, { success: true }, null].map((result) => mark(result))).toEqual(["Done: good", "Found: good", "Succeeded: good", "Succeeded: good", "Succeeded: good"]);
    expect([{ status: "unverified" }, { status: "best_so_far" }, { verdict: "weak" }, { status: "question" }, { verdict: "not_found" }].map((result) => mark(result))).toEqual([
      "Unverified: warn",
      "Best so far: warn",
      "Weak match: warn",
      "Needs an answer: accent",
      "Not found: neutral",
    ]);
  });

  it("is the job's state while there is no result, and what the list says of the result where it has no result", () => {
    expect([mark(null, "running"), mark({ verdict: "ok" }, "failed"), mark(null, "dead")]).toEqual(["Running: accent", "Failed: bad", "Crashed: bad"]);
    expect(stateOf({ state: "succeeded", verdict: "block_failed" }).word).toBe("Block failed");
    expect(stateOf({ state: "succeeded", verdict: "unverified" }).tone).toBe("warn");
  });

  it("of a verdict that a newer server invents is never green", () => {
    expect(mark({ verdict: "gone_fishing" })).toBe("Gone fishing: warn");
  });

  it("is read of a verdict, a status or a success", () => {
    expect([{ verdict: "user_error" }, { status: "best_so_far" }, { success: false }, { success: true }, {}, null].map((result) => verdictOf(result))).toEqual(["user_error", "best_so_far", "failed", "ok", null, null]);
  });
});

describe("the table of states", () => {
  it("has no failure in green, and unverified in a color of its own", () => {
    const tables = { ...JOB_STATES, ...RESULT_STATES, ...BLOCK_STATES, ...ATTEMPT_STATES, ...CHECK_STATES };
    const green = Object.entries(tables).filter(([, { tone }]) => tone === "good").map(([name]) => name);
    expect(green.sort()).toEqual(["done", "found", "fresh", "ok", "passed", "result", "succeeded"]);
    const { icon, tone } = RESULT_STATES.unverified;
    expect([icon, tone]).not.toEqual([RESULT_STATES.done.icon, RESULT_STATES.done.tone]);
  });
});

describe("an outcome", () => {
  it("is in one group, and every one with the tone of a failure is in that of the failures", () => {
    const names = [...new Set([...Object.keys(JOB_STATES), ...Object.keys(RESULT_STATES)])];
    const groups = ["Active", "Done", "Unverified", "Needs an answer", "Failed", "Canceled"].map(outcomesOf);
    expect(groups.flat().sort()).toEqual(names.sort());
    expect(outcomesOf("Failed").sort()).toEqual(names.filter((name) => outcomeState(name, false).tone === "bad").sort());
    expect(outcomesOf("Active")).toEqual(["queued", "running"]);
    expect(outcomesOf("providers_failed")).toEqual([]);
  });

  it("of a failed job is a failure even where its code is not known here", () => {
    expect(outcomeState("providers_failed", true)).toMatchObject({ word: "Providers failed", tone: "bad" });
    expect([groupOf("providers_failed", true), groupOf("gone_fishing"), groupOf("ok")]).toEqual(["Failed", "Unverified", "Done"]);
  });
});

describe("a provider", () => {
  it("that fails 33 of 36 calls is failing, whatever its breaker says", () => {
    expect(providerState("closed", { calls: 36, errors: 33 })).toMatchObject({ word: "Failing", tone: "bad" });
    expect(providerState("closed", { calls: 100, errors: 20 })).toMatchObject({ word: "Elevated errors", tone: "warn" });
    expect(providerState("closed", { calls: 1000, errors: 1 })).toMatchObject({ word: "Healthy", tone: "good" });
    expect(providerState("closed", { calls: 0, errors: 0 }).word).toBe("Healthy");
  });

  it("has the word of its breaker where that is not closed", () => {
    expect((["open", "parked", "half_open", "refusing", "unconfigured"] as const).map((breaker) => providerState(breaker, { calls: 9, errors: 0 }).word)).toEqual(["Unavailable", "Rate-limited", "Recovering", "Refusing", "No key"]);
  });
});

describe("the installation", () => {
  const provider = (name: string, state: ProviderState["state"]) => ({ name, state, configured: true }) as ProviderState;
  const row = (group: string, calls: number, errors: number) => ({ group, calls, errors }) as Parameters<typeof providersHealth>[1][number];
  const well = { kinds: { execute: { state: "ready" }, transform: { state: "ready" } } } as unknown as Capabilities;

  it("is degraded when a provider is, and says which", () => {
    const providers = providersHealth([provider("groq", "parked"), provider("cerebras", "closed"), provider("anthropic", "closed")], [row("anthropic", 36, 33), row("cerebras", 188, 1)]);
    expect(providers.map(({ provider: { name } }) => name)).toEqual(["anthropic", "groq", "cerebras"]);
    expect(installationHealth(well, providers)).toEqual({ tone: "warn", words: "2 providers degraded", faults: ["anthropic: Failing, 33 of 36 calls failed", "groq: Rate-limited"] });
  });

  it("is degraded when a type of job is, and well when nothing is", () => {
    const one = { kinds: { execute: { state: "no_worker", reason: "no worker" }, search: { state: "ready" } } } as unknown as Capabilities;
    expect(installationHealth(one, []).words).toBe("1 of 2 job types degraded");
    expect(installationHealth(well, [])).toMatchObject({ tone: "good", words: "All systems operational" });
  });
});
