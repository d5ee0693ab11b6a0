import type { Bar, Course, Lane } from "./lanes";
import type { Scale, Span } from "./scale";

/** More turns than this share rows; closer there are fewer of them, until each has its own. */
const MAX_ROWS = 8;

/** A line of the timeline: a turn, or several that follow each other. */
export interface Row {
  name: string;
  turn: number | null;
  from: number;
  to: number;
  /** Whether several turns share it: a closer look parts them. */
  shared: boolean;
}

export interface Drawing {
  rows: Row[];
  bars: Bar[];
}

/** The course with its times as they are drawn. */
export function onScale({ lanes, bars }: Course, scale: Scale): Course {
  const placed = <T extends { from: number; to: number }>(each: T): T => ({ ...each, from: scale.drawn(each.from), to: scale.drawn(each.to) });
  return scale.folds.length === 0 ? { lanes, bars, total: scale.length } : { lanes: lanes.map(placed), bars: bars.map(placed), total: scale.length };
}

/** What is to be seen of a part of the time: the queue, the turns in sight, and no more bars than can be distinguished. */
export function drawingOf({ lanes, bars }: Course, [from, to]: Span, step: number): Drawing {
  const inSight = (each: { from: number; to: number }): boolean => each.to >= from && each.from <= to;
  const places = lanes.map((_, place) => place);
  const turns = places.filter((place) => lanes[place]!.turn !== null && inSight(lanes[place]!));
  const together = Math.max(1, Math.ceil(turns.length / MAX_ROWS));
  const rows: Row[] = [rowFor([lanes[0]!])];
  const rowOf = new Map<number, number>([[0, 0]]);
  for (let index = 0; index < turns.length; index += together) {
    const shared = turns.slice(index, index + together);
    shared.forEach((place) => rowOf.set(place, rows.length));
    rows.push(rowFor(shared.map((place) => lanes[place]!)));
  }
  for (const place of places.slice(1).filter((each) => lanes[each]!.turn === null)) {
    rowOf.set(place, rows.length);
    rows.push(rowFor([lanes[place]!]));
  }
  const seen = bars.filter(inSight).map((bar) => ({ ...bar, lane: rowOf.get(bar.lane) ?? 0 }));
  return { rows, bars: drawable(seen, step) };
}

function rowFor(lanes: readonly Lane[]): Row {
  const [first, last] = [lanes[0]!, lanes.at(-1)!];
  if (lanes.length === 1) return { ...first, shared: false };
  return { name: `turns ${first.turn}–${last.turn}`, turn: null, from: first.from, to: lanes.reduce((most, lane) => Math.max(most, lane.to), 0), shared: true };
}

/** Bars as they are drawn: of those that fall on the same `step` seconds of a row one is drawn for all, with their number. */
export function drawable(bars: readonly Bar[], step: number): Bar[] {
  const drawn: Bar[] = [];
  const last = new Map<string, { bar: Bar; many: number }>();
  for (const bar of bars) {
    const key = `${bar.lane} ${bar.tone} ${bar.provider}`;
    const before = last.get(key);
    if (before !== undefined && bar.to - before.bar.from < step) {
      before.many += 1;
      before.bar.to = Math.max(before.bar.to, bar.to);
      before.bar.label = `${before.many} ${bar.tone === "fault" || bar.tone === "failed" ? "faults" : "steps"}`;
    } else {
      const copy = { ...bar };
      last.set(key, { bar: copy, many: 1 });
      drawn.push(copy);
    }
  }
  return drawn;
}
