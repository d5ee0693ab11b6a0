import type { Bar } from "./lanes";

/** A part of the time, in seconds. */
export type Span = readonly [from: number, to: number];

/** Time as it is drawn: of each fold only a little is left. */
export interface Scale {
  length: number;
  folds: readonly { real: Span; drawn: Span }[];
  drawn: (seconds: number) => number;
  real: (drawn: number) => number;
}

const LEAST_FOLDED = 5;

/** As an address has it: "1.5-20". */
export function spanOf(text: string | undefined): Span | null {
  const match = /^(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)$/.exec(text ?? "");
  if (match === null || Number(match[1]) >= Number(match[2])) return null;
  return [Number(match[1]), Number(match[2])];
}

/** The stretches in which nothing of the job ran, as far as they are long compared with those in which something did. */
export function idleOf(bars: readonly Bar[], total: number): Span[] {
  const busy = bars.filter((bar) => bar.tone !== "queue").sort((one, other) => one.from - other.from);
  if (busy.length === 0) return [];
  const gaps: Span[] = [];
  let end = 0;
  for (const bar of busy) {
    if (bar.from > end) gaps.push([end, bar.from]);
    end = Math.max(end, bar.to);
  }
  if (total > end) gaps.push([end, total]);
  const work = total - gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  return gaps.filter(([from, to]) => to - from >= LEAST_FOLDED && to - from > work / 2);
}

export function scaleOf(idle: readonly Span[], total: number): Scale {
  const rest = total - idle.reduce((sum, [from, to]) => sum + to - from, 0);
  const width = rest * Math.min(0.08, 0.5 / Math.max(idle.length, 1));
  let saved = 0;
  const folds = idle.map(([from, to]) => {
    const drawn: Span = [from - saved, from - saved + width];
    saved += to - from - width;
    return { real: [from, to] as Span, drawn };
  });
  const between = (seconds: number, given: "real" | "drawn", wanted: "real" | "drawn"): number => {
    const fold = folds.findLast((each) => each[given][0] <= seconds);
    if (fold === undefined) return seconds;
    const [from, to] = fold[given];
    const [start, end] = fold[wanted];
    return seconds >= to ? end + (seconds - to) : start + ((seconds - from) / (to - from)) * (end - start);
  };
  return { length: total - saved, folds, drawn: (seconds) => between(seconds, "real", "drawn"), real: (drawn) => between(drawn, "drawn", "real") };
}

/** The part after zooming by `factor` (below 1: closer) around a moment, within the whole; null is the whole. */
export function zoomed([from, to]: Span, around: number, factor: number, total: number): Span | null {
  const width = Math.max((to - from) * factor, Math.min(total, 0.001));
  if (width >= total) return null;
  const start = around - ((around - from) / (to - from)) * width;
  return moved([start, start + width], 0, total);
}

/** The part moved by a share of its width, within the whole. */
export function moved([from, to]: Span, share: number, total: number): Span {
  const width = to - from;
  const start = Math.min(Math.max(from + share * width, 0), Math.max(total - width, 0));
  return [start, start + width];
}
