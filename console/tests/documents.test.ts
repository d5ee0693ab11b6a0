import { describe, expect, it } from "vitest";
import { namesIn } from "../src/features/documents/names";
import { marksOf } from "../src/features/documents/stale";
import { acceptable, decided } from "../src/features/documents/suggestions";
import { typedName } from "../src/shared/code/completion";

const ANSWERED = "Before.\n\n::: describe it :::\n\n::: suggest {by=a}\nOne.\n:::\n\n::: suggest {by=b}\nTwo.\nThree.\n:::\n\nAfter.\n";

describe("answers of models in a document", () => {
  it("are found in their order, with their words", () => {
    expect(acceptable(ANSWERED).map(({ text }) => text)).toEqual(["One.", "Two.\nThree."]);
  });

  it("are decided one after the other, and the first decision is kept", () => {
    const first = decided(ANSWERED, 0, "One, edited.");
    const both = decided(first, 0, null);
    expect(both).toContain("One, edited.");
    expect(both).not.toContain("Two.");
    expect(acceptable(both)).toEqual([]);
  });

  it("leave the document alone when there is no such answer", () => {
    expect(decided(ANSWERED, 7, null)).toBe(ANSWERED);
  });
});

describe("marks of blocks", () => {
  it("are at first lines, and of two in one line the worse is shown", () => {
    const block = (line: number, status: string): unknown => ({ id: String(line), kind: "chunk", lines: [line, line], status });
    const marks = marksOf([block(1, "fresh"), block(1, "stale"), block(4, "ok")] as Parameters<typeof marksOf>[0]);
    expect(marks.map(({ line, sign, title }) => [line, sign, title])).toEqual([
      [1, "~", "chunk: stale"],
      [4, "✓", "chunk: ok"],
    ]);
  });
});

describe("a block that failed", () => {
  it("says why at its line", () => {
    const block = { id: "a", kind: "chunk", lines: [2, 4], status: "error", messages: [{ level: "error", code: "code_failed", text: "NameError: no x" }] };
    expect(marksOf([block] as Parameters<typeof marksOf>[0])[0]!.title).toBe("chunk: error: NameError: no x");
  });
});

describe("names after two braces", () => {
  it("are what the code assigns and what the last run knew, each once and in order", () => {
    const markdown = "total = of no code\n\n&[year]{num}\n\n```python exec\ntotal = 3\nif total == 3:\n    inner = 1\nb <- 2\nconst\n```\n\nafter = text\n\n```js exec\nconst rows = []\n```\n";
    expect(namesIn(markdown, ["total", "given"])).toEqual(["b", "given", "rows", "total", "year"]);
  });

  it("are offered only where the braces are open", () => {
    expect(["Say {{", "Say {{ to", "Say {{a}} and", "Say { to"].map(typedName)).toEqual(["", "to", null, null]);
  });
});
