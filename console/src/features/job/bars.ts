import type { JobEvent } from "../../api/types";

export interface Bar {
  lane: string;
  label: string;
  tone: string;
  from: number;
  to: number;
}

/** A part of the time, in seconds. */
export type Span = readonly [number, number];

/** Bars in seconds since the first event; `now` (milliseconds) lets the last one grow. */
export function barsOf(events: readonly JobEvent[], now: number | null): { bars: Bar[]; total: number } {
  const first = events[0];
  if (first === undefined) return { bars: [], total: 0 };
  const began = Date.parse(first.at);
  const at = (event: JobEvent): number => (Date.parse(event.at) - began) / 1000;
  const total = Math.max(0.001, now === null ? at(events.at(-1)!) : (now - began) / 1000);
  const bars: Bar[] = [];
  let answered: number | null = null;
  const started = events.find((event) => event.type === "job_started");
  bars.push({ lane: "queue", label: "waited", tone: "queue", from: 0, to: started === undefined ? total : at(started) });
  if (started === undefined) return { bars, total };
  for (const event of events) {
    const to = at(event);
    if (event.type === "llm_call") {
      const tone = event.outcome === "ok" ? "ok" : "fault";
      answered = to;
      bars.push({ lane: "models", label: `${String(event.provider)} ${String(event.outcome)}`, tone, from: Math.max(0, to - Number(event.seconds ?? 0)), to });
    } else if (event.type === "turn_taken") {
      const outcome = (event.outcome ?? {}) as { outcome?: string; seconds?: number };
      if (outcome.outcome === "done") continue;
      const tone = outcome.outcome === undefined || outcome.outcome === "result" ? "ok" : "fault";
      bars.push({ lane: "runs", label: `turn ${String(event.number)} ${outcome.outcome ?? ""}`, tone, from: Math.min(answered ?? at(started), to), to });
    }
  }
  if (bars.length === 1) bars.push({ lane: "runs", label: "ran", tone: "ok", from: at(started), to: total });
  return { bars, total };
}

/** Bars as they are drawn: of those that fall on the same `step` seconds of a lane one is drawn for all, with their number. */
export function drawable(bars: readonly Bar[], step: number): Bar[] {
  const drawn: Bar[] = [];
  const last = new Map<string, { bar: Bar; many: number }>();
  for (const bar of bars) {
    const key = `${bar.lane} ${bar.tone}`;
    const before = last.get(key);
    if (before !== undefined && bar.to - before.bar.from < step) {
      before.many += 1;
      before.bar.to = Math.max(before.bar.to, bar.to);
      before.bar.label = `${before.many} ${bar.tone === "fault" ? "faults" : "steps"}`;
    } else {
      const copy = { ...bar };
      last.set(key, { bar: copy, many: 1 });
      drawn.push(copy);
    }
  }
  return drawn;
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
