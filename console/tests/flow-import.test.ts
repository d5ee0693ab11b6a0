import { describe, expect, it } from "vitest";
import { lineOf, nameFor, refusal, sourceOf } from "../src/shared/files/flow-import";

describe("what is imported as a flow", () => {
  it("is JSON or Mermaid, by what it begins with", () => {
    expect(sourceOf(' {"nodes": []}')).toMatchObject({ format: "json" });
    expect(sourceOf("[1]")).toMatchObject({ format: "json" });
    expect(sourceOf("flowchart LR\n a --> b")).toEqual({ format: "mermaid", text: "flowchart LR\n a --> b", left: 0 });
  });

  it("is the first Mermaid diagram of Markdown, in its own lines", () => {
    const text = "# Shop\r\n\n```js\n```mermaid\n```\n\n````mermaid\nflowchart LR\n  a --> b\n```\n````\nmore\n~~~ mermaid\ngraph TD\n~~~\n";
    const { format, text: sent, left } = sourceOf(text);
    expect([format, left]).toEqual(["mermaid", 1]);
    expect(sent.trim()).toBe("flowchart LR\n  a --> b\n```");
    expect(lineOf(sent, 9)).toBe(lineOf(text, 9));
    expect(lineOf(text, 9)).toBe("a --> b");
  });

  it("goes to the end of a text that does not end it", () => {
    expect(sourceOf("```mermaid\ngraph TD").text).toBe("\ngraph TD");
    expect(sourceOf("```python\n1\n").text).toBe("```python\n1\n");
  });

  it("is neither a picture nor enormous, and has its file's name", () => {
    expect(refusal({ name: "logo.png", size: 1 })).toContain(".mmd");
    expect(refusal({ name: "flow.JSON", size: 17_000_000 })).toContain("16 MB");
    expect(refusal({ name: "a.mermaid", size: 10 })).toBeNull();
    expect([nameFor("shop.v2.mmd"), nameFor("flow.json")]).toEqual(["shop.v2", ""]);
  });
});
