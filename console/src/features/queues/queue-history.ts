import type { components } from "../../api/schema";
import type { Point } from "../../shared/values/sparkline";
import { count } from "../../shared/values/numbers";

type Past = components["schemas"]["QueuePast"];

/** How many waited at the end of each minute. */
export function waitedOf(past: Past): Point[] {
  return past.queued.map((value, place) => ({ value, told: `${agoOf(past, place)}: ${count(value)} queued` }));
}

/** How many ended in each minute, those that failed among them. */
export function endedOf(past: Past): Point[] {
  return past.ended.map((value, place) => {
    const bad = past.failed[place] ?? 0;
    return { value, bad, told: `${agoOf(past, place)}: ${count(past.submitted[place])} came, ${count(value)} ended${bad === 0 ? "" : `, ${count(bad)} failed`}` };
  });
}

/** "at most 12 waited, now 3": what the line comes to. */
export function waitedWords(past: Past): string {
  return `at most ${count(Math.max(0, ...past.queued))} waited within the last hour, now ${count(past.queued.at(-1) ?? 0)}`;
}

export function endedWords(past: Past): string {
  const sum = (values: readonly number[]): string => count(values.reduce((total, value) => total + value, 0));
  return `${sum(past.submitted)} came and ${sum(past.ended)} ended within the last hour, ${sum(past.failed)} failed`;
}

function agoOf(past: Past, place: number): string {
  const minutes = past.queued.length - 1 - place;
  return minutes === 0 ? "this minute" : `${minutes} min ago`;
}
