import { describe, expect, it } from "vitest";
import type { DocumentResult } from "../src/api/types";
import { factsOf, inWords } from "../src/results/value-facts";

type Block = DocumentResult["blocks"][number];

const VALUE = { name: "total * 2", kernel: "python", type: "int", bytes: 2, truncated: false, sha256: "0123456789abcdef", block: "chunk-1" };
const outputs = (...texts: string[]): Block["outputs"] => texts.map((text) => ({ media_type: "text/plain", text }) as NonNullable<Block["outputs"]>[number]);
const CHUNK = { id: "chunk-1", kind: "chunk", lines: [3, 7], language: "python", status: "ok", digest: "fedcba9876543210", outputs: outputs("41\n", "42"), value: { ...VALUE, name: "chunk-1", truncated: true } } as Block;
const INLINE = { id: "expression-1", kind: "expression", lines: [9, 9], language: "python", status: "ok", outputs: outputs("82"), value: VALUE } as Block;
const BLOCKS = [CHUNK, INLINE];

describe("what a value in a page tells", () => {
  it("is its code, kernel, type, size, hash, and the block that made it", () => {
    const facts = factsOf(INLINE, "82", BLOCKS, "");
    expect(inWords(facts)).toBe("total * 2 · python · int · Size 2 B · SHA-256 0123456789ab · made by chunk-1, lines 3 to 7");
    expect([facts.maker, facts.block]).toEqual([CHUNK, INLINE]);
  });

  it("says that only a part of it is there", () => {
    expect(inWords(factsOf(CHUNK, "42", BLOCKS, ""))).toContain(" · cut · ");
  });

  it("gives no type to what was printed", () => {
    expect(inWords(factsOf(CHUNK, "41\n", BLOCKS, ""))).toBe("chunk-1 · python · Digest fedcba987654 · made by chunk-1, lines 3 to 7");
  });

  it("of a job of an earlier version has the code of its line, and leads to it", () => {
    const before = { ...INLINE, value: null } as Block;
    const facts = factsOf(before, "82", [CHUNK, before], "\n".repeat(8) + "It is `total * 2`{python exec}.");
    expect(inWords(facts)).toBe("total * 2 · python · made by expression-1, line 9");
  });
});
