import { afterEach, expect, it, vi } from "vitest";
import { newUuid } from "../src/api/uuid";

afterEach(() => vi.unstubAllGlobals());

it("makes UUIDs where the browser makes none", () => {
  const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const { crypto } = globalThis;
  expect(newUuid()).toMatch(shape);
  vi.stubGlobal("crypto", { getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes) });
  const made = Array.from({ length: 50 }, newUuid);
  for (const each of made) expect(each).toMatch(shape);
  expect(new Set(made).size).toBe(50);
});
