import type { Job, JobEvent, LlmCall, SearchResult } from "../api/types";
import { callText, callTurnsOf, undoneOf } from "./calls";
import { planText, plansOf } from "./plans";
import { attemptsOf } from "./transform";

/** A job with the messages to its models, and what it tried. */
export interface Ran {
  job: Job;
  calls: readonly LlmCall[];
  events: readonly JobEvent[];
}

/** What one of two jobs did in a turn. */
export interface TurnSide {
  calls: readonly LlmCall[];
  /** What it tried, with the outcome: code, plans of queries, calls of tools; null in a turn without. */
  text: string | null;
}

export interface TurnPair {
  number: number;
  left: TurnSide;
  right: TurnSide;
}

/** The turns of two jobs side by side, by their numbers. */
export function turnPairs(left: Ran, right: Ran): TurnPair[] {
  const texts = [textsOf(left), textsOf(right)] as const;
  const numbers = new Set([...texts[0].keys(), ...texts[1].keys(), ...[...left.calls, ...right.calls].map((call) => call.turn)]);
  const side = (ran: Ran, text: ReadonlyMap<number, string>, number: number): TurnSide => ({
    calls: ran.calls.filter((call) => call.turn === number),
    text: text.get(number) ?? null,
  });
  return [...numbers].sort((one, other) => one - other).map((number) => ({ number, left: side(left, texts[0], number), right: side(right, texts[1], number) }));
}

/** Of a turn's calls the one that answered, else the last that was sent. */
export function answerOf(calls: readonly LlmCall[]): LlmCall | undefined {
  return calls.findLast((call) => call.outcome === "ok") ?? calls.findLast((call) => call.outcome !== "skipped");
}

function textsOf({ job, events }: Ran): Map<number, string> {
  if (job.kind === "search") {
    const plans = plansOf((job.result ?? null) as SearchResult | null, events);
    return new Map(plans.map(({ number, queries, hits, errors }) => [number, together(planText(queries), Object.entries(hits).map(([table, found]) => `${table}: ${errors[table] ?? `${found} hits`}`))]));
  }
  if (job.kind === "flow") {
    return new Map(callTurnsOf(events).map((turn) => [turn.number, together(callText(turn.calls), undoneOf(turn).map(({ call, done }) => `${call.name}: ${done.error ?? "taken back with its batch"}`))]));
  }
  return new Map(attemptsOf(job, events).map(({ number, code, message }) => [number, together(code, [message])]));
}

function together(tried: string, came: readonly string[]): string {
  return [tried, came.join("\n")].filter((part) => part !== "").join("\n\n");
}
