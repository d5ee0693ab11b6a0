import { describe, expect, it } from "vitest";
import { bodyOf, draftOf, shownOf, type TenantLimits } from "../src/features/settings/limit-draft";

const LIMITS: TenantLimits = {
  tenant: "shop",
  weight: 1,
  quotas: {
    storage_bytes: { limit: 2_500_000_000, used: 1_000_000_000, own: 2_500_000_000, default: 100_000_000_000 },
    queued_jobs: { limit: 100_000, used: 3, own: null, default: 100_000 },
    tokens_per_day: { limit: null, used: 0, own: 0, default: 100_000_000 },
  },
};

describe("the limits of a tenant", () => {
  it("are edited as they were set, with the default where nothing was", () => {
    expect(draftOf(LIMITS)).toEqual({ storage_bytes: 2.5, queued_jobs: "", tokens_per_day: 0, weight: "" });
    expect(draftOf({ ...LIMITS, weight: 5 }).weight).toBe(5);
  });

  it("stay what they are when they are saved without a change", () => {
    expect(bodyOf(draftOf(LIMITS))).toEqual({ storage_bytes: 2_500_000_000, queued_jobs: null, tokens_per_day: 0, weight: null });
  });

  it.each([
    ["storage_bytes", 0.1, 100_000_000],
    ["storage_bytes", 1e-9, 1],
    ["streams", 0, 0],
    ["weight", "", null],
  ] as const)("are sent in the server's units: %s %s", (name, typed, sent) => {
    expect(bodyOf({ [name]: typed })).toEqual({ [name]: sent });
  });

  it("show the default next to the field", () => {
    expect(shownOf(LIMITS, "storage_bytes")).toEqual({ word: "Storage", used: 1_000_000_000, usual: 100_000_000_000, suffix: "GB" });
    expect(shownOf(LIMITS, "weight").usual).toBe(1);
  });
});
