import { describe, expect, test } from "vitest";
import { partsOf } from "../src/features/conversations/message-parts";

describe("the parts of a message", () => {
  test("are words, fenced code and what a model thought, in order", () => {
    const message = "I group.\n```python\nresult = 1\n```\nDone.\n<thinking>A review.</thinking>\n<response>[1]</response>";
    expect(partsOf(message)).toEqual([
      { kind: "words", text: "I group." },
      { kind: "code", text: "result = 1" },
      { kind: "words", text: "Done." },
      { kind: "thinking", text: "A review." },
      { kind: "code", text: "[1]" },
    ]);
  });

  test("of a fence that was cut are code to the end, and an answer in words is words", () => {
    expect(partsOf("```sql\nSELECT 1")).toEqual([{ kind: "code", text: "SELECT 1" }]);
    expect(partsOf("<response>Nothing to do.</response>")).toEqual([{ kind: "words", text: "Nothing to do." }]);
  });
});
