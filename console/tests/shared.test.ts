import { describe, expect, test } from "vitest";
import { parse } from "../src/api/frames";
import { spans, visible } from "../src/shared/code/ansi";
import { headOf, safeCell } from "../src/shared/tables/csv";
import { changes } from "../src/shared/code/diff";
import { cost } from "../src/shared/values/numbers";
import { stamp } from "../src/shared/values/time";
import { longestOf, stripOf } from "../src/features/jobs/duration-strip";
import type { FlowView, Job, TransformResult } from "../src/api/types";
import { drawn } from "../src/features/flow/canvas/merged-graph";
import { explainedWords, originsOf, told } from "../src/results/origins";

describe("differences", () => {
  test("a changed line is one taken away and one added, with the numbers of both texts", () => {
    expect(changes("a\nb\nc", "a\nB\nc")).toEqual([
      { sign: " ", text: "a", before: 1, after: 1 },
      { sign: "-", text: "b", before: 2, after: null },
      { sign: "+", text: "B", before: null, after: 2 },
      { sign: " ", text: "c", before: 3, after: 3 },
    ]);
  });
  test("both texts can be read off any difference", () => {
    for (const [before, after] of [["", "x"], ["x\ny", "y\nx\ny"], ["a\na\na", "a"], ["1\n2\n3\n4", "0\n2\n4\n5"]] as const) {
      const lines = changes(before, after);
      expect(lines.filter((line) => line.sign !== "+").map((line) => line.text).join("\n")).toBe(before);
      expect(lines.filter((line) => line.sign !== "-").map((line) => line.text).join("\n")).toBe(after);
    }
  });
});

describe("hostile text", () => {
  test("colours are kept and every other control sequence is dropped", () => {
    expect(spans("\u001b[1;31mred\u001b[0m \u001b]0;title\u0007\u001b[2Jplain").map((span) => [span.text, span.tone, span.bold])).toEqual([
      ["red", "bad", true],
      [" ", "", false],
      ["plain", "", false],
    ]);
    expect(spans("\\x1b[32mok\\x1b[0m")[0]).toEqual({ text: "ok", tone: "good", bold: false });
  });
  test("characters that turn text around are shown", () => {
    expect(visible("a\u202eb\u0000")).toBe("a⟦U+202E⟧b\ufffd");
  });
  test("no cell of an export is a formula", () => {
    expect(safeCell("=1+1")).toBe("'=1+1");
    expect(safeCell('@x,"y"')).toBe(`"'@x,""y"""`);
    expect(safeCell("-5.2")).toBe("-5.2");
  });
});

describe("data", () => {
  test("the head of a CSV has quoted cells with line breaks", () => {
    expect(headOf('a,b\n"1\n2",""""\n3,4\n')).toEqual({ columns: ["a", "b"], rows: [["1\n2", '"'], ["3", "4"]] });
    expect(headOf("no table here")).toBeNull();
  });
  test("an unknown cost is a dash and never nothing", () => {
    expect([cost(null), cost(0), cost(0.00138), cost(12)]).toEqual(["–", "$0", "$0.00138", "$12.00"]);
  });
});

describe("events", () => {
  test("a frame has an id, an event and its data, a comment is nothing", () => {
    expect(parse('id: 3\nevent: x\ndata: {"seq":3}')).toEqual([{ id: "3", event: "x", data: '{"seq":3}' }]);
    expect(parse(": still here")).toEqual([]);
  });
});

describe("times", () => {
  test("a moment is shown without the year that it is, and with the year that it was", () => {
    const at = new Date("2026-03-04T05:06:07Z");
    expect(stamp(at, "UTC", new Date("2026-12-01T00:00:00Z"))).toBe("03-04 05:06:07Z");
    expect(stamp(at, "UTC", new Date("2027-01-01T00:00:00Z"))).toBe("2026-03-04 05:06:07Z");
  });
  test("a job's strip is its part of the slowest, and a job that runs has none", () => {
    const job = (started: number, finished: number | null): Job =>
      ({ created_at: new Date(0).toISOString(), started_at: new Date(started).toISOString(), finished_at: finished === null ? null : new Date(finished).toISOString() }) as Job;
    const longest = longestOf({ items: [job(1000, 4000), job(2000, 10_000), job(500, null)] });
    expect(longest).toBe(10);
    expect(stripOf(job(1000, 4000), longest).style).toEqual({ "--waited": "10.0%", "--done": "40.0%" });
    expect(stripOf(job(500, null), longest)).toEqual({});
  });
});

describe("origins", () => {
  const result = {
    code: "# total of amounts\nresult = data.rename(columns={'amt': 'amount'})\nresult['total'] = result['amount'] * 2\nsubtotal = 1",
    table: { columns: [{ name: "city", type: "string" }, { name: "amount", type: "float" }, { name: "total", type: "float" }] },
    inputs: [{ name: "data", columns: [{ name: "city", type: "string" }, { name: "amt", type: "int" }] }],
    effect: { rows: { before: 3, after: 2 }, columns: { renamed: { amt: "amount" } }, sums: { amount: [3, 4] }, nulls: {} },
  } as unknown as TransformResult;
  test("a column shows its input, its change, and the lines that name it", () => {
    expect(originsOf(result).map(told)).toEqual(["from data.city", "from data.amt (int to float, sum 3 to 4); line 2, 3", "made by the code; line 3"]);
    expect(explainedWords({ lineage: {}, explained: null })).toBe("It was not found out which columns depend on which: they are matched by name.");
  });
  test("the lineage goes before names: what is a literal, what is made of other columns, what of rows alone", () => {
    const traced = (lineage: object): string[] => originsOf({ ...result, code: "", lineage } as unknown as TransformResult).map(told);
    const literal = "made by the code (a literal)";
    expect(traced({ city: "literal", amount: ["data.amt"], total: ["data.amt", "data.city"] })).toEqual([literal, "from data.amt (int to float, sum 3 to 4)", "from data.amt, data.city"]);
    expect(traced({ city: ["data"], amount: ["data.city"], total: "literal" })).toEqual(["from the rows of data", "from data.city", literal]);
  });
  test("a column is copied only where the effect compared its cells and found them as they were", () => {
    const city = (effect: object, more: object = {}): string =>
      told(originsOf({ ...result, code: "", lineage: { city: ["data.city"] }, ...more, effect: { rows: { before: 2, after: 2 }, columns: { changed: {} }, keys: { kept: [] }, ...effect } } as unknown as TransformResult)[0]!);
    expect(city({})).toBe("copied from data.city");
    expect(city({ columns: { changed: { city: 1 } } })).toBe("from data.city");
    expect(city({ rows: { before: 2, after: 1 } })).toBe("from data.city");
    expect(city({ keys: {} })).toBe("from data.city");
    expect(city({}, { lineage: { city: ["data.city", "data.amt"] } })).toBe("from data.city, data.amt");
    expect(city({}, { table: { columns: [{ name: "city", type: "date" }] } })).toBe("from data.city (string to date)");
  });
  test("a column may be named like what every object has", () => {
    const named = { ...result, code: "", lineage: {}, table: { columns: [{ name: "constructor", type: "int" }] } };
    expect(originsOf(named as unknown as TransformResult).map(told)).toEqual(["made by the code"]);
  });
  test("the share that the data explain is all or none only where it is", () => {
    const lineage = { city: ["data.city"] };
    expect([1, 0.9999, 0.5, 0.0001, 0].map((explained) => explainedWords({ lineage, explained }).split(" ")[0])).toEqual(["All", "99%", "50%", "1%", "None"]);
  });
});

describe("groups of a flow", () => {
  const node = (id: string, more: object = {}) => ({ id, position: { x: 0, y: 0 }, data: { label: id }, ...more });
  const flow = (folded: boolean): FlowView => {
    const inside = { parentGroupId: "g", hidden: folded };
    const nodes = [node("a", inside), node("b", { ...inside, position: { x: 300, y: 0 } }), node("c"), node("g", { type: "group", isCollapsed: folded })];
    return { nodes, edges: [{ id: "ab", source: "a", target: "b" }, { id: "bc", source: "b", target: "c" }], settings: {} } as unknown as FlowView;
  };
  test("a folded one represents its members, and the edges among them are gone", () => {
    const { nodes, edges } = drawn(flow(true), []);
    expect(nodes.filter((each) => !each.hidden).map((each) => each.id)).toEqual(["c", "g"]);
    expect(edges.map((edge) => [edge.source, edge.target])).toEqual([["g", "c"]]);
  });
  test("an open one is a frame around them", () => {
    const frame = drawn(flow(false), []).nodes.find((each) => each.id === "g")!;
    expect([frame.position, frame.width, frame.height, frame.zIndex]).toEqual([{ x: -20, y: -17.5 }, 512, 97, -3]);
  });
});
