import { describe, expect, test } from "vitest";
import { drawable, drawingOf, onScale } from "../src/features/job/bars";
import { courseOf } from "../src/features/job/lanes";
import { barAt, pathsOf } from "../src/features/job/shapes";
import { idleOf, moved, scaleOf, spanOf, zoomed } from "../src/features/job/scale";

const event = (seq: number, type: string, at: number, more: object = {}) => ({ type, job_id: "j", seq, at: new Date(at * 1000).toISOString(), ...more });

const failedOver = [
  event(1, "job_queued", 0),
  event(2, "job_started", 1),
  event(3, "llm_call", 2, { turn: 1, seconds: 0.5, outcome: "rate_limit", provider: "groq" }),
  event(4, "llm_call", 4, { turn: 1, seconds: 2, outcome: "ok", provider: "cerebras" }),
  event(5, "turn_taken", 5, { number: 1, outcome: { outcome: "error" } }),
  event(6, "llm_call", 7, { turn: 2, seconds: 2, outcome: "ok", provider: "cerebras" }),
  event(7, "turn_taken", 7.5, { number: 2, outcome: { outcome: "result" } }),
  event(8, "job_succeeded", 8),
];

describe("the course of a job", () => {
  test("has the queue and a lane for each turn: prompt, each try by its provider, run", () => {
    const { lanes, bars, total } = courseOf(failedOver, null);
    expect(total).toBe(8);
    expect(lanes.map(({ name, turn }) => [name, turn])).toEqual([["queue", null], ["turn 1", 1], ["turn 2", 2]]);
    expect(bars.map((bar) => [lanes[bar.lane]!.name, bar.tone, bar.provider, bar.from, bar.to])).toEqual([
      ["queue", "queue", null, 0, 1],
      ["turn 1", "prompt", null, 1, 1.5],
      ["turn 1", "fault", "groq", 1.5, 2],
      ["turn 1", "ok", "cerebras", 2, 4],
      ["turn 1", "failed", null, 4, 5],
      ["turn 2", "ok", "cerebras", 5, 7],
      ["turn 2", "run", null, 7, 7.5],
      ["turn 2", "prompt", null, 7.5, 8],
    ]);
  });

  test("grows while the job runs, in the lane of what runs", () => {
    const asked = courseOf(failedOver.slice(0, 4), 10_000);
    expect(asked.bars.at(-1)).toMatchObject({ label: "running", from: 1, to: 10 });
    const ran = courseOf(failedOver.slice(0, 5), 10_000);
    expect([ran.lanes[ran.bars.at(-1)!.lane]!.name, ran.bars.at(-1)!.from, ran.bars.at(-1)!.to]).toEqual(["turn 2", 5, 10]);
    expect(courseOf(failedOver.slice(0, 1), 3000).bars).toMatchObject([{ tone: "queue", from: 0, to: 3 }]);
  });

  test("of a job without turns is one run, and what a lost worker did is before the wait for another", () => {
    const plain = [event(1, "job_queued", 0), event(2, "job_started", 1), event(3, "job_started", 40), event(4, "job_failed", 41)];
    const { lanes, bars } = courseOf(plain, null);
    expect(bars.map((bar) => [lanes[bar.lane]!.name, bar.tone, bar.from, bar.to])).toEqual([["queue", "queue", 0, 1], ["queue", "queue", 1, 40], ["run", "failed", 1, 41]]);
  });

  test("of code that failed is a failure, though its job succeeded", () => {
    const ran = [event(1, "job_queued", 0), event(2, "job_started", 1), event(3, "job_succeeded", 2)];
    expect(courseOf(ran, null, true).bars.at(-1)).toMatchObject({ label: "code failed", tone: "failed" });
    expect(courseOf(ran, null, false).bars.at(-1)).toMatchObject({ label: "code ran", tone: "run" });
  });

  test("shows whether a turn failed, in the form of each kind", () => {
    const tone = (outcome: unknown) => courseOf([event(1, "job_queued", 0), event(2, "job_started", 0), event(3, "turn_taken", 1, { number: 1, outcome })], null).bars[1]!.tone;
    expect([{ modules: 0 }, { modules: 0, others: 2 }, [{ success: true }, { success: false }], [{ success: true }], { outcome: "look" }, { outcome: "no_code" }].map(tone)).toEqual(["failed", "run", "failed", "run", "run", "failed"]);
  });
});

describe("idle stretches", () => {
  const waited = [event(1, "job_queued", 0), event(2, "job_started", 600), event(3, "llm_call", 602, { turn: 1, seconds: 2, outcome: "ok", provider: "p" }), event(4, "turn_taken", 604, { number: 1, outcome: { outcome: "result" } })];

  test("are folded where they are long compared with the rest, and times can be read in both directions", () => {
    const { bars, total } = courseOf(waited, null);
    expect(idleOf(bars, total)).toEqual([[0, 600]]);
    const scale = scaleOf([[0, 600]], total);
    expect(scale.length).toBeCloseTo(4 + 0.32);
    for (const second of [0, 300, 600, 601, 604]) expect(scale.real(scale.drawn(second))).toBeCloseTo(second);
    const placed = onScale(courseOf(waited, null), scale);
    expect(placed.bars.at(-1)!.to).toBeCloseTo(scale.length);
  });

  test("are left as they are where they are short, or nothing has run yet", () => {
    const { bars, total } = courseOf(failedOver, null);
    expect(idleOf(bars, total)).toEqual([]);
    expect(idleOf(courseOf(waited.slice(0, 1), 900_000).bars, 900)).toEqual([]);
  });
});

describe("timeline", () => {
  const events = [event(1, "job_queued", 0), event(2, "job_started", 1)];
  for (let turn = 1; turn <= 5000; turn += 1) {
    events.push(event(2 * turn + 1, "llm_call", 1 + turn, { turn, outcome: turn === 77 ? "timeout" : "ok", provider: "p", seconds: 0.5 }));
    events.push(event(2 * turn + 2, "turn_taken", 1.5 + turn, { number: turn, outcome: { outcome: "result" } }));
  }
  const course = courseOf(events, null);

  test("10,000 events are drawn as no more bars than fit, and every fault is among them", () => {
    expect(course.bars).toHaveLength(10_002);
    const drawn = drawable(course.bars, course.total / 500);
    const { rows, bars } = drawingOf(course, [0, course.total], course.total / 500);
    expect(bars.length).toBeLessThan(1100);
    for (const each of [bars, drawn]) expect(each.filter((bar) => bar.tone === "fault")).toHaveLength(1);
    expect(drawable(course.bars.slice(0, 5), 0.001)).toEqual(course.bars.slice(0, 5));
    expect(rows).toHaveLength(9);
    expect(rows.slice(0, 2).map(({ name }) => name)).toEqual(["queue", "turns 1–625"]);
  });

  test("closer, each turn in sight has a row of its own", () => {
    const { rows, bars } = drawingOf(course, [100.6, 103.6], 0.01);
    expect(rows.map(({ turn }) => turn)).toEqual([null, 100, 101, 102, 103]);
    expect(Math.max(...bars.map((bar) => bar.lane))).toBe(4);
  });

  test("bars that look alike are one shape, none thinner than can be seen, and found by their position", () => {
    const { bars } = drawingOf(course, [0, course.total], course.total / 500);
    const place = { x: (seconds: number) => (seconds / course.total) * 1000, width: 1000 };
    const paths = pathsOf(bars, place);
    expect(paths.map(({ bar }) => bar.tone).sort()).toEqual(["fault", "ok", "prompt", "queue", "run"]);
    const widths = [...paths.map(({ path }) => path).join("").matchAll(/h([\d.]+)v/g)].map((match) => Number(match[1]));
    expect(widths).toHaveLength(bars.length);
    expect(Math.min(...widths)).toBeGreaterThanOrEqual(3);
    expect(barAt(bars, place, 1, 12)).toMatchObject({ tone: "queue", label: "queued" });
    expect(barAt(bars, place, 500, 12)).toBeUndefined();
  });

  test("what is of no turn keeps a row of its own", () => {
    const calls = events.filter(({ type }) => type !== "turn_taken");
    const names = drawingOf(courseOf(calls, null), [0, course.total], 10).rows.map(({ name }) => name);
    expect([names[0], names.at(-2), names.at(-1)]).toEqual(["queue", "turns 4376–5000", "run"]);
  });

  test("a part in the address is read where it is one", () => {
    expect(["1.5-20", "0-3", "3-3", "4-1", "a-b", "", undefined].map(spanOf)).toEqual([[1.5, 20], [0, 3], null, null, null, null, null]);
  });

  test("zooming keeps what is under the pointer and ends with the whole; moving stays within it", () => {
    expect(zoomed([0, 100], 25, 0.5, 100)).toEqual([12.5, 62.5]);
    expect(zoomed([12.5, 62.5], 25, 4, 100)).toBeNull();
    expect(moved([10, 20], -5, 100)).toEqual([0, 10]);
    expect(moved([10, 20], 50, 100)).toEqual([90, 100]);
  });
});
