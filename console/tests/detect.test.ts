import { describe, expect, it } from "vitest";
import type { DetectResult } from "../src/api/types";
import { detectDiff } from "../src/results/detect-diff";

type Service = DetectResult["services"][number];

function found(...services: object[]): DetectResult {
  const empty = { name: "shop", path: "", role: "service", primary: {}, versions: [], candidates: [], build: {}, runtime: {} };
  return { services: services.map((each) => ({ ...empty, ...each }) as unknown as Service) } as DetectResult;
}

describe("two detections", () => {
  it("differ in services and in what each is made of", () => {
    const before = found({ primary: { framework: "express", language: "javascript" }, runtime: { ports: [80] } }, { name: "old", path: "apps/old" });
    const after = found({ primary: { framework: "fastify", language: "javascript" }, candidates: [{ kind: "framework", name: "Fastify" }] }, { name: "new", path: "apps/new" });
    expect(detectDiff(before, after).map(({ sign, text }) => `${sign} ${text}`)).toEqual([
      "- service old (apps/old)",
      "+ service new (apps/new)",
      "~ shop, framework: express › fastify",
      "- shop, ports: 80",
      "+ shop, framework candidate Fastify: found",
    ]);
    expect(detectDiff(before, before)).toEqual([]);
  });
});
