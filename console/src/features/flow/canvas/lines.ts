import type { Point, Rect } from "../../../shared/flows/elements";
import type { Side } from "../../../shared/flows/shapes";

/** Which way most links of a flow lead. */
export type Way = "LR" | "RL" | "TB" | "BT";

const CLEAR = 8; // less than this between two boxes is too narrow for a line

/** The sides at which a link leaves one box and meets the other: along the way of the flow, where that is free. */
export function sidesFor(source: Rect, target: Rect, way: Way): [Side, Side] {
  const upright = way === "TB" || way === "BT";
  const [a, b] = upright ? [turned(source), turned(target)] : [source, target];
  const flipped = way === "RL" || way === "BT";
  const sides = flipped ? mirrored(across(mirror(a), mirror(b))) : across(a, b);
  return upright ? [turnedSide(sides[0]), turnedSide(sides[1])] : sides;
}

/** For a flow from left to right. */
function across(a: Rect, b: Rect): [Side, Side] {
  const ahead = b.x - (a.x + a.width);
  const back = a.x - (b.x + b.width);
  const below = b.y - (a.y + a.height);
  const aside = Math.max(below, a.y - (b.y + b.height));
  const towards: Side = below >= 0 ? "bottom" : "top";
  const facing: Side = below >= 0 ? "top" : "bottom";
  if (ahead > CLEAR) return ["right", "left"];
  if (back > CLEAR) return aside > CLEAR ? ["left", facing] : ["bottom", "bottom"];
  if (aside > CLEAR) return [towards, facing];
  const [dx, dy] = [b.x + b.width / 2 - a.x - a.width / 2, b.y + b.height / 2 - a.y - a.height / 2];
  if (Math.abs(dx) >= Math.abs(dy)) return dx >= 0 ? ["right", "left"] : ["left", "right"];
  return dy >= 0 ? ["bottom", "top"] : ["top", "bottom"];
}

const turned = ({ x, y, width, height }: Rect): Rect => ({ x: y, y: x, width: height, height: width });
const mirror = (box: Rect): Rect => ({ ...box, x: -box.x - box.width });
const TURNED: Readonly<Record<Side, Side>> = { left: "top", right: "bottom", top: "left", bottom: "right" };
const turnedSide = (side: Side): Side => TURNED[side];
const flip = (side: Side): Side => (side === "left" ? "right" : side === "right" ? "left" : side);
const mirrored = ([one, other]: [Side, Side]): [Side, Side] => [flip(one), flip(other)];

const OUT: Readonly<Record<Side, Point>> = { left: { x: -1, y: 0 }, right: { x: 1, y: 0 }, top: { x: 0, y: -1 }, bottom: { x: 0, y: 1 } };

export interface End extends Point {
  side: Side;
}

export const LANE = 14; // between two links that join the same sides

/** A link as it is drawn, and the points on it from its source, 0, to its target, 1. */
export interface Curve {
  path: string;
  at: (t: number) => Point;
}

/** The curve of a link; `lane` moves it off others between the same sides. */
export function curveOf(source: End, target: End, lane = 0): Curve {
  const s = shifted(source, lane);
  const t = shifted(target, lane);
  const [from, to] = [OUT[source.side], OUT[target.side]];
  const same = source.side === target.side;
  const [dx, dy] = [t.x - s.x, t.y - s.y];
  const along = Math.abs(dx * from.x + dy * from.y);
  const aside = Math.abs(dx * from.y) + Math.abs(dy * from.x);
  const opposite = from.x === -to.x && from.y === -to.y;
  if (opposite && aside < 1) return { path: `M${n(s.x)} ${n(s.y)}L${n(t.x)} ${n(t.y)}`, at: (part) => ({ x: s.x + dx * part, y: s.y + dy * part }) };
  const reach = same ? Math.min(36 + aside * 0.18 + Math.abs(lane) * LANE, 140) : Math.min(Math.max(along * 0.45, Math.min(aside * 0.4, 40), 18), 200);
  const [c1, c2] = [{ x: s.x + from.x * reach, y: s.y + from.y * reach }, { x: t.x + to.x * reach, y: t.y + to.y * reach }];
  return cubic(s, c1, c2, t);
}

/** A link from a node to itself, round its upper right corner. */
export function loopOf(box: Rect, lane = 0): Curve {
  const [right, out] = [box.x + box.width, 34 + Math.abs(lane) * LANE];
  const start = { x: right, y: box.y + box.height / 2 };
  const end = { x: right - Math.min(24, box.width / 4), y: box.y };
  return cubic(start, { x: right + out, y: start.y }, { x: end.x + out / 2, y: box.y - out }, end);
}

function cubic(a: Point, b: Point, c: Point, d: Point): Curve {
  const at = (t: number): Point => {
    const [u, v, w, x] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t ** 2 * (1 - t), t ** 3];
    return { x: u * a.x + v * b.x + w * c.x + x * d.x, y: u * a.y + v * b.y + w * c.y + x * d.y };
  };
  return { path: `M${n(a.x)} ${n(a.y)}C${n(b.x)} ${n(b.y)} ${n(c.x)} ${n(c.y)} ${n(d.x)} ${n(d.y)}`, at };
}

function shifted(end: End, lane: number): Point {
  const out = OUT[end.side];
  return { x: end.x + out.y * out.y * lane * LANE, y: end.y + out.x * out.x * lane * LANE };
}

const MAX_SAMPLED = 400;

/** The way in which most of the links lead. */
export function wayOf(boxes: ReadonlyMap<string, Rect>, links: readonly { source: string; target: string }[]): Way {
  const votes: Record<Way, number> = { LR: 0, RL: 0, TB: 0, BT: 0 };
  for (const { source, target } of links.slice(0, MAX_SAMPLED)) {
    const [a, b] = [boxes.get(source), boxes.get(target)];
    if (a === undefined || b === undefined || a === b) continue;
    const [right, left] = [b.x - a.x - a.width, a.x - b.x - b.width];
    const [down, up] = [b.y - a.y - a.height, a.y - b.y - b.height];
    const most = Math.max(right, left, down, up);
    if (most >= 0) votes[most === right ? "LR" : most === down ? "TB" : most === left ? "RL" : "BT"] += 1;
  }
  return (Object.keys(votes) as Way[]).reduce((best, each) => (votes[each] > votes[best] ? each : best), "LR");
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}
