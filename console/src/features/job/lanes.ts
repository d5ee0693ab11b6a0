import type { JobEvent } from "../../api/types";

export type Tone = "queue" | "prompt" | "ok" | "fault" | "skipped" | "run" | "failed";

export interface Bar {
  /** The place of its lane; of bars that are drawn, of its row. */
  lane: number;
  label: string;
  tone: Tone;
  /** Of a model's attempt: the model that was called. */
  provider: string | null;
  from: number;
  to: number;
}

export interface Lane {
  name: string;
  turn: number | null;
  from: number;
  to: number;
}

/** How a job went, in seconds since its first event: the queue first, then a lane for each turn. */
export interface Course {
  lanes: Lane[];
  bars: Bar[];
  total: number;
}

/** Shorter than this is nothing to see. */
const LEAST = 0.001;

/** `now` (milliseconds) lets what still runs grow; `failed`: whether what ran did, though the job may have succeeded. */
export function courseOf(events: readonly JobEvent[], now: number | null, failed = false): Course {
  const first = events[0];
  if (first === undefined) return { lanes: [], bars: [], total: 0 };
  const began = Date.parse(first.at);
  const at = (event: JobEvent): number => (Date.parse(event.at) - began) / 1000;
  const total = Math.max(LEAST, now === null ? at(events.at(-1)!) : (now - began) / 1000);
  const course = new Recorder(total);
  for (const event of events) {
    if (event.type === "job_started") course.started(at(event));
    else if (event.type === "llm_call") course.called(event, at(event));
    else if (event.type === "turn_taken") course.took(event, at(event));
  }
  return course.ended(now === null ? events.at(-1)!.type : null, failed);
}

/** Puts down what happened, in the order of the events. */
class Recorder {
  private readonly lanes: Lane[] = [{ name: "queue", turn: null, from: 0, to: 0 }];
  private readonly bars: Bar[] = [];
  private readonly places = new Map<string, number>();
  private readonly lanesCalled = new Set<number>();
  private runs = 0;
  private begun = 0;
  private taken = 0;
  /** Until when the time is known, and the lane and the tone of what runs since. */
  private done = 0;
  private open: { lane: number | null; tone: Tone } = { lane: null, tone: "prompt" };

  constructor(private readonly total: number) {}

  started(at: number): void {
    this.add({ lane: 0, label: this.runs === 0 ? "queued" : "queued for another worker", tone: "queue", provider: null, from: this.done, to: at });
    if (this.runs === 0) this.begun = at;
    this.runs += 1;
    this.done = at;
    this.open = { lane: null, tone: "prompt" };
  }

  called(event: JobEvent, at: number): void {
    const lane = this.laneOf(event.turn, "models");
    const from = Math.max(0, at - Number(event.seconds ?? 0));
    // Only before the first try: what lies between two tries is a pause.
    if (!this.lanesCalled.has(lane) && from - this.done > LEAST) this.add({ lane, label: "prompt", tone: "prompt", provider: null, from: this.done, to: from });
    this.lanesCalled.add(lane);
    const outcome = String(event.outcome);
    const tone = outcome === "ok" ? "ok" : outcome === "skipped" ? "skipped" : "fault";
    const provider = String(event.provider);
    this.add({ lane, label: `${provider} ${outcome.replaceAll("_", " ")}`, tone, provider, from, to: at });
    this.done = Math.max(this.done, at);
    this.open = { lane, tone: tone === "ok" ? "run" : "prompt" };
  }

  took(event: JobEvent, at: number): void {
    const lane = this.laneOf(event.number);
    const words = wordsOf(event.outcome);
    this.taken += 1;
    if (words !== "done") this.add({ lane, label: `run: ${words}`, tone: hasFailed(event.outcome) ? "failed" : "run", provider: null, from: Math.min(this.done, at), to: at });
    this.done = Math.max(this.done, at);
    this.open = { lane: null, tone: "prompt" };
  }

  /** `last` is the event that ended the job; of a running job it is null. */
  ended(last: string | null, failed: boolean): Course {
    const bad = failed || last === "job_failed" || last === "job_dead";
    if (this.runs === 0) this.add({ lane: 0, label: "queued", tone: "queue", provider: null, from: 0, to: this.total });
    else if (this.taken === 0) {
      const lane = this.laneOf(null, "run");
      this.add({ lane, label: last === null ? "running" : bad ? "code failed" : "code ran", tone: bad ? "failed" : "run", provider: null, from: this.begun, to: this.total });
    } else if (this.total - this.done > LEAST) {
      const going = last === null;
      const lane = going ? (this.open.lane ?? this.laneOf((this.lanes.at(-1)!.turn ?? 0) + 1)) : this.lanes.length - 1;
      this.add({ lane, label: going ? "in progress" : "after the last turn", tone: going ? this.open.tone : "prompt", provider: null, from: this.done, to: this.total });
    }
    return { lanes: this.lanes, bars: this.bars, total: this.total };
  }

  private add(bar: Bar): void {
    const lane = this.lanes[bar.lane]!;
    lane.from = Math.min(lane.from, bar.from);
    lane.to = Math.max(lane.to, bar.to);
    this.bars.push(bar);
  }

  /** A turn of each run has a lane of its own; what is of no turn has one together, of that name. */
  private laneOf(number: unknown, otherwise = "run"): number {
    const turn = typeof number === "number" ? number : null;
    const key = turn === null ? otherwise : `${this.runs} ${turn}`;
    const known = this.places.get(key);
    if (known !== undefined) return known;
    const again = this.runs > 1 && turn !== null ? `, run ${this.runs}` : "";
    this.lanes.push({ name: turn === null ? otherwise : `turn ${turn}${again}`, turn, from: Infinity, to: 0 });
    this.places.set(key, this.lanes.length - 1);
    return this.lanes.length - 1;
  }
}

/** Outcome of a turn in a few words: each kind reports it in its own form. */
function wordsOf(outcome: unknown): string {
  if (outcome === null || typeof outcome !== "object") return "ok";
  if (Array.isArray(outcome)) {
    const bad = outcome.filter((each: { success?: boolean } | null) => each?.success === false).length;
    return bad === 0 ? `${outcome.length} calls` : `${bad} of ${outcome.length} calls failed`;
  }
  const word = (outcome as { outcome?: unknown }).outcome;
  if (typeof word === "string") return word.replaceAll("_", " ");
  return `${Object.values(outcome).reduce((sum: number, hits) => sum + (Number(hits) || 0), 0)} hits`;
}

/** Code that gave no result, a tool call that did not work, queries of which none found anything. */
function hasFailed(outcome: unknown): boolean {
  if (outcome === null || typeof outcome !== "object") return false;
  if (Array.isArray(outcome)) return outcome.some((each: { success?: boolean } | null) => each?.success === false);
  const word = (outcome as { outcome?: unknown }).outcome;
  if (typeof word === "string") return !["result", "look", "done"].includes(word);
  const hits = Object.values(outcome);
  return hits.length > 0 && hits.every((each) => each === 0);
}
