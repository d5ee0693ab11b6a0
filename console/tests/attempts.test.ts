import { describe, expect, test } from "vitest";
import type { DocumentResult, Job, LlmCall, Prompt } from "../src/api/types";
import { inputFrom } from "../src/features/job/branch-input";
import { choicesOf, usedOf } from "../src/features/job/prompt-version";
import { keptOf, tabOf, tabsOf } from "../src/features/job/tabs";
import { verdictOfAttempt } from "../src/results/attempt-verdict";
import { callText, callTurnsOf, undoneOf } from "../src/results/calls";
import { cellsOf, piecesOf, valuesOf } from "../src/results/cells";
import { plansOf, planText, reasonsOf } from "../src/results/plans";
import { attemptsOf } from "../src/results/transform";

const turn = (number: number, proposal: unknown, outcome: unknown) => ({ type: "turn_taken", job_id: "j", seq: number + 2, at: "2026-01-01T00:00:00Z", number, proposal, outcome });
const query = (more: object = {}) => ({ table: "talks", search_mode: "master", query_text: "vacuum", limit: 10, score_threshold: null, filters: {}, ...more });

describe("an attempt of a transform", () => {
  test("is not a success where something speaks against its result", () => {
    const reasons = [{ code: "invented_values" as const, message: "These values do not come from the data" }];
    expect(verdictOfAttempt({ outcome: "result" })).toBe("result");
    expect(verdictOfAttempt({ outcome: "result", unverified_because: reasons })).toBe("unverified");
    expect(verdictOfAttempt({ outcome: "error", unverified_because: [] })).toBe("failed");
  });

  test("shows that also while its job runs", () => {
    const message = "These values do not come from the data";
    const running = { id: "j", result: null, error: null } as unknown as Job;
    const [attempt] = attemptsOf(running, [turn(1, { code: "result = 1" }, { outcome: "result", message: "", seconds: 1, unverified_because: [{ code: "invented_values", message }] })]);
    expect(verdictOfAttempt(attempt!)).toBe("unverified");
  });
});

describe("plans of a search", () => {
  test("are a line for each thing that may change", () => {
    expect(planText([query({ filters: { year: 2020, track: "web" } })]).split("\n")).toEqual(["talks: vacuum", "  mode master", "  threshold default", "  limit 10", '  filter track = "web"', "  filter year = 2020"]);
  });

  test("of a job that has no result are those of its events, with why another was made", () => {
    const [first, second] = plansOf(null, [turn(1, { strategy: "initial", queries: [query()] }, { talks: 0 }), turn(2, { strategy: "rewrite", queries: [query({ query_text: "autovacuum" })] }, { talks: 3 })]);
    expect(reasonsOf(first!, [])).toEqual(["talks: no hits"]);
    expect(reasonsOf(first!, [{ table: "talks", constraint: "filters.track", hits_without: 4, suggestions: [] }])).toEqual(["talks: no hits", "talks: 4 without filters.track"]);
    expect(reasonsOf(second!, [])).toEqual([]);
    expect(reasonsOf({ ...first!, errors: { talks: "embedding_unavailable" } }, [])).toEqual(["talks: embedding_unavailable"]);
  });
});

describe("calls of a flow", () => {
  test("that did nothing are those that failed and those that were taken back with them", () => {
    const call = (id: string, name: string, params: object) => ({ id, name, params });
    const [only] = callTurnsOf([turn(1, [call("1", "addNode", { label: "Review", id: "review" }), call("2", "addEdge", {}), call("3", "setLayout", {})], [{ success: false, error: "no node basket" }, { success: true, rolled_back: true }, { success: true }])]);
    expect(undoneOf(only!).map(({ call }) => call.name)).toEqual(["addNode", "addEdge"]);
    expect(callText(only!.calls.slice(0, 1))).toBe('addNode\n  id: "review"\n  label: "Review"');
  });
});

describe("a way on from an attempt", () => {
  const job = { id: "J", kind: "transform", input: { task: "old", data: [{ name: "data", csv: "a\n1" }, { name: "b", csv: "c\n1" }], code: "x", base: "original", assertions: ["rows == 1"] }, result: null } as unknown as Job;

  test("is another task on its result, or its code on the data that it saw", () => {
    expect(inputFrom(job, { number: 2, code: "y" }, { task: "next" })).toEqual({ task: "next", data: (job.input as { data: unknown }).data, assertions: ["rows == 1"], branch: { job_id: "J", iteration: 2 } });
    expect(inputFrom(job, { number: 2, code: "y" }, { code: "z" })).toMatchObject({ task: "old", code: "z" });
    const followUp = { ...job, result: { continues: "I", inputs: [{ name: "data", file_id: "F" }] } } as unknown as Job;
    expect(inputFrom(followUp, { number: 1, code: "y" }, { code: "z" }).data).toEqual([{ name: "data", file_id: "F" }, { name: "b", csv: "c\n1" }]);
  });

  test("of a search is its queries, without their outcomes", () => {
    const search = { id: "S", kind: "search", input: { collection: "c", question: "q" } } as unknown as Job;
    expect(inputFrom(search, { number: 1, queries: [{ ...query(), hits: 3, ms: 1, error: null }] }, {})).toEqual({ collection: "c", question: "q", plan: [query()] });
  });
});

describe("versions for a replay", () => {
  test("are those of the prompts that the job used, each number once", () => {
    const call = (key: string | null, version: number) => ({ prompt: key === null ? null : { key, version } }) as unknown as LlmCall;
    expect([...usedOf([call("a", 1), call("a", 1), call("b", 2), call("a", 3), call(null, 1)])]).toEqual([["a", [1, 3]], ["b", [2]]]);
    const prompt = (version: number, note: string | null, labels: string[]) => ({ version, note, labels }) as unknown as Prompt;
    expect(choicesOf([prompt(1, null, []), prompt(2, "shorter", ["next"]), prompt(2, "shorter", [])])).toEqual([{ value: "2", label: "version 2 · shorter · next" }, { value: "1", label: "version 1" }]);
  });
});

describe("parts of a job", () => {
  const job = (kind: string, result: object | null) => ({ kind, result, usage: { llm_calls: 1 } }) as unknown as Job;
  const tabs = tabsOf(job("transform", {}), 2, []);

  test("are remembered by kind, and only where the job has them", () => {
    expect(tabOf(job("transform", {}), tabs, { transform: "models" })).toBe("models");
    expect(tabOf(job("transform", {}), tabs, { transform: "output" })).toBe("result");
    expect(tabOf(job("transform", null), tabs, { transform: "result", execute: "input" })).toBe("attempts");
    expect(keptOf('{"a": 1, "b": "input"}')).toEqual({ b: "input" });
    expect([keptOf(null), keptOf("{"), keptOf("null")]).toEqual([{}, {}, {}]);
  });
});

describe("cells that were sent", () => {
  const message = [
    'Task: put "1" first',
    "BEGIN DATA",
    '"data": 3 rows x 4 columns',
    "columns:",
    '- "city": string; 3 distinct; all values: "Oslo; x" x 2, "Rome" x 1',
    '- "n": int; 2 distinct; from 1 to 20; mean 10.5; quartiles 1 2 20',
    '- "mail": string, values hidden',
    "first rows:",
    '["city", "n", "mail"]',
    '["Oslo; x", 1, (hidden)]',
    '["a \\"b\\", [c]"... (+20 characters), -2.5, (hidden)]',
    "END DATA",
    '["not", "data"]',
  ].join("\n");

  test("are those of rows, listed values and ranges; hidden ones are marked where they are hidden", () => {
    const sent = cellsOf(message);
    const texts = (masked: boolean): string[] => sent.filter((each) => each.masked === masked).map(({ from, to }) => message.slice(from, to));
    expect(texts(false)).toEqual(['"Oslo; x"', '"Rome"', "1", "20", '"Oslo; x"', "1", '"a \\"b\\", [c]"... (+20 characters)', "-2.5"]);
    expect(texts(true)).toEqual(["values hidden", "(hidden)", "(hidden)"]);
    expect(piecesOf(message, sent).map((piece) => piece.text).join("")).toBe(message);
  });

  test("of a document are the values of its rendered instruction, counted in characters", () => {
    const blocks = [{ message_rendered: "𝒳 is 42.", message_spans: [[5, 7, "total"]] }] as unknown as DocumentResult["blocks"];
    const text = "Write this: 𝒳 is 42. Thanks";
    expect(valuesOf(blocks, text).map(({ from, to }) => text.slice(from, to))).toEqual(["42"]);
    expect(valuesOf(blocks, "nothing of it")).toEqual([]);
  });
});
