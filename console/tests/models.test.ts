import { describe, expect, it } from "vitest";
import { endsWords, factsOf, linesOf, priceWords } from "../src/features/models/facts";
import { minutesOf } from "../src/features/models/last-hour";
import { moved, placeAt } from "../src/features/models/reorder";

describe("the order of a chain", () => {
  it("is changed by taking one to another place, never beyond the ends", () => {
    expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
    expect(moved(["a", "b", "c"], 2, -1)).toEqual(["c", "a", "b"]);
    expect(moved(["a"], 3, 0)).toEqual(["a"]);
  });

  it("is shown as text, so that two of them can be compared", () => {
    expect(linesOf([{ provider: "groq", model: "a/b", parameters: { temperature: 0.2, top_p: 1 } }, { provider: "x", model: "own", parameters: {} }])).toBe("groq/a/b, temperature 0.2, top p 1\nx/own");
  });

  it("is found by the pointer's position, also above and below the rows", () => {
    const boxes = [
      { top: 10, bottom: 20 },
      { top: 24, bottom: 34 },
    ];
    expect([0, 15, 22, 30, 90].map((y) => placeAt(boxes, y))).toEqual([0, 0, 1, 1, 1]);
  });
});

describe("what is known of a model", () => {
  const models = {
    available: [
      { provider: "groq", model: "a/b", configured: true, retired: "2026-11-20" },
      { provider: "x", model: "own", configured: false, retired: null },
    ],
    roles: {},
    prices: [{ provider: "groq", model: "a/b", currency: "USD" as const, input: 0.15, output: 0.6, as_of: "2026-11-20" }],
  };
  const facts = factsOf(models);

  it("is its price, and never $0 where that is unknown", () => {
    expect(priceWords(facts.prices.get("groq/a/b"))).toBe("$0.15 in, $0.60 out per million tokens");
    expect([priceWords(undefined), priceWords({ provider: "x", model: "own", currency: "USD" })]).toEqual(["price unknown", "price unknown"]);
  });

  it("is whether its vendor has ended it, and when", () => {
    const link = { provider: "groq", model: "a/b" };
    expect(endsWords(facts, link, "2026-11-20")).toEqual({ words: "Retired 2026-11-20", over: true });
    expect(endsWords(facts, link, "2026-11-19")).toEqual({ words: "Retires 2026-11-20", over: false });
    expect(endsWords(facts, { provider: "x", model: "own" })).toBeNull();
  });
});

it("the last hour of a provider has a point for each minute", () => {
  const at = Date.parse("2026-11-24T10:30:30Z");
  const row = { at: "2026-11-24T10:29:00Z", group: "groq", jobs: 1, turns_jobs: 0, calls: 3, errors: 2, input_tokens: 0, output_tokens: 0, unpriced: 0, run_p50: 0.5 };
  const points = minutesOf([row, { ...row, group: "other" }], "groq", at);
  expect(points).toHaveLength(60);
  expect(points.at(-2)).toEqual({ value: 3, bad: 2, told: "1 min ago: 3 calls, 2 errors, p50 500 ms" });
  expect(points.reduce((sum, point) => sum + point.value, 0)).toBe(3);
});
