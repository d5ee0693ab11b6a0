import { describe, expect, it } from "vitest";
import { askedOf } from "../src/features/job/input-parts";

describe("an input as one reads it", () => {
  it("has the words first, then code, then what is next to a name", () => {
    const input = { language: "python", code: "print(1)", task: "One row\nper month", data: [{ name: "sales", file_id: "f" }, { name: "stores" }], max_iterations: 3, verify: true, assertions: ["rows > 0"], masks: [] };
    expect(askedOf(input).map(({ name, text, as }) => [name, text, as])).toEqual([
      ["task", "One row\nper month", "words"],
      ["code", "print(1)", "code"],
      ["language", "python", "fact"],
      ["data", "sales; stores", "fact"],
      ["max_iterations", "3", "fact"],
      ["verify", "true", "fact"],
      ["assertions", "rows > 0", "fact"],
    ]);
  });

  it("says how much there is of what is large", () => {
    const [text, records] = askedOf({ records: Array.from({ length: 30 }, (_, id) => ({ id, text: "x" })), markdown: "y".repeat(20_010) });
    expect(text!.text.endsWith("… 10 more characters: the JSON below has them")).toBe(true);
    expect(records!.text).toBe("30 entries");
  });

  it("is empty for what is not an object", () => {
    expect([askedOf(null), askedOf([1]), askedOf("a")]).toEqual([[], [], []]);
  });
});
