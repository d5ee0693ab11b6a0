import { describe, expect, it } from "vitest";
import type { Effect, Job, JobEvent, LlmCall, TransformResult } from "../src/api/types";
import { effectText } from "../src/results/assertions";
import { answerOf, turnPairs, type Ran } from "../src/results/turn-pairs";

const call = (turn: number, outcome: string): LlmCall => ({ turn, outcome, requested: { provider: "groq", model: "m" } }) as LlmCall;
const iteration = (number: number, code: string, message: string): object => ({ number, code, message });
const ran = (job: Partial<Job>, calls: LlmCall[] = [], events: object[] = []): Ran => ({ job: job as Job, calls, events: events as JobEvent[] });

describe("two jobs turn by turn", () => {
  it("belong together by the number of the turn; one may have more", () => {
    const left = ran({ kind: "transform", result: { iterations: [iteration(1, "a", "KeyError"), iteration(2, "b", "rows 2")] } as never }, [call(1, "ok"), call(2, "ok"), call(3, "ok")]);
    const right = ran({ kind: "transform", error: { iterations: [iteration(1, "c", "")] } as never }, [call(1, "rate_limited"), call(1, "ok")]);
    const pairs = turnPairs(left, right);
    expect(pairs.map(({ number, left, right }) => [number, left.text, right.text])).toEqual([
      [1, "a\n\nKeyError", "c"],
      [2, "b\n\nrows 2", null],
      [3, null, null],
    ]);
    expect(pairs.map(({ left, right }) => [left.calls.length, right.calls.length])).toEqual([[1, 2], [1, 0], [1, 0]]);
  });

  it("are the plans of a search and the calls of a diagram", () => {
    const query = { table: "talks", search_mode: "hybrid", query_text: "redis", limit: 5, score_threshold: null, filters: {}, hits: 0, error: null };
    const search = ran({ kind: "search", result: { attempts: [{ number: 1, strategy: "initial", reasoning: "", queries: [query] }] } as never });
    expect(turnPairs(search, search)[0]!.left.text).toMatch(/^talks: redis\n[^]*\n\ntalks: 0 hits$/);
    const turn = { type: "turn_taken", number: 1, proposal: [{ id: "1", name: "addNode", params: { label: "A" } }], outcome: [{ success: false, error: "there is one" }] };
    const flow = ran({ kind: "flow" }, [], [turn]);
    expect(turnPairs(flow, flow)[0]!.right.text).toBe('addNode\n  label: "A"\n\naddNode: there is one');
  });

  it("answer by the call that did, else by the last that was sent", () => {
    const [limited, skipped, ok] = [call(1, "rate_limited"), call(1, "skipped"), call(1, "ok")];
    expect([answerOf([limited, ok, skipped]), answerOf([limited, skipped]), answerOf([skipped])]).toEqual([ok, limited, undefined]);
  });
});

it("says in lines what a result did to the data", () => {
  const effect = { rows: { before: 5, after: 5 }, columns: { added: ["total"] }, sums: { amount: [10, 12] } } as unknown as Effect;
  expect(effectText(effect, { inputs: [], table: null } as unknown as TransformResult)).toBe("rows: 5 (unchanged)\ncolumns added: total\nsum(amount): 10 → 12");
});
