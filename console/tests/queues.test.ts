import { describe, expect, it } from "vitest";
import { saysOf, whyNot } from "../src/features/queues/worker-facts";
import { endedOf, endedWords, waitedOf, waitedWords } from "../src/features/queues/queue-history";

describe("a worker", () => {
  it("on standby says why", () => {
    const facts = { isolation: { tier: "none", minimum: "ns" }, unavailable: "This kernel forbids namespaces." };
    expect(whyNot({ alive: true, kinds: [], facts })).toEqual(["This kernel forbids namespaces."]);
    expect(saysOf(facts)).toBe("");
    expect(whyNot({ alive: true, kinds: [], facts: {} })).toEqual(["on standby, no reason reported"]);
  });

  it("says what it lacks next to what it has", () => {
    const facts = {
      isolation: { tier: "gvisor", minimum: "ns" },
      languages: { python: { available: true, version: "3.11.7" }, r: { available: false, reason: "install R" } },
      embedding: "minilm",
      degraded: { search: "by keywords only" },
    };
    expect(whyNot({ alive: true, kinds: ["search"], facts })).toEqual(["search: by keywords only", "no r: install R"]);
    expect(saysOf(facts)).toBe("code runs in gVisor, demanded: Linux namespaces; python 3.11.7; embedding minilm");
    expect(whyNot({ alive: false, kinds: ["flow"], facts: {} })).toEqual(["it has not reported for six seconds"]);
  });
});

it("the last hour of a queue is summarized in words, as a whole and by the minute", () => {
  const past = { kind: "flow", queued: [0, 3, 1], submitted: [0, 4, 0], ended: [0, 1, 2], failed: [0, 0, 1] };
  expect([waitedWords(past), endedWords(past)]).toEqual(["at most 3 waited within the last hour, now 1", "4 came and 3 ended within the last hour, 1 failed"]);
  expect(waitedOf(past).map((point) => point.told)).toEqual(["2 min ago: 0 queued", "1 min ago: 3 queued", "this minute: 1 queued"]);
  expect(endedOf(past).at(-1)).toEqual({ value: 2, bad: 1, told: "this minute: 0 came, 2 ended, 1 failed" });
});
