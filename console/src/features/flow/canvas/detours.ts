import type { Grid } from "./grid";
import type { Point, Rect } from "../../../shared/flows/elements";
import type { Curve, End, Way } from "./lines";
import type { Side } from "../../../shared/flows/shapes";

/** A way round what is between two nodes: the sides at which it leaves and arrives, and its corners. */
export interface Detour {
  sides: [Side, Side];
  corners: Point[];
}

const CLEAR = 16; // between a line and a node that it passes
const APART = 9; // between two lines
const LEAD = 14; // out of a node before the first corner
const ROUND = 10;
const PER_CORNER = 30; // pixels of way that a corner is worth
const MAX_STEPS = 8;
const SAMPLES = 24;

/** Whether a curve is on nodes other than its own. */
export function isBlocked({ at }: Curve, nodes: Grid, own: readonly Rect[]): boolean {
  for (let step = 1; step < SAMPLES; step += 1) if (nodes.holds(at(step / SAMPLES), own)) return true;
  return false;
}

/** The shortest way round the nodes, on lines that no other link takes; null when there is none of few corners. */
export function detourFor(endAt: (on: "source" | "target", side: Side) => End, own: readonly Rect[], way: Way, nodes: Grid, taken: Grid): Detour | null {
  const upright = way === "TB" || way === "BT";
  const onward = way === "LR" || way === "TB" ? 1 : -1;
  // Along the way of the flow, and across it.
  const u = (point: Point): number => (upright ? point.y : point.x);
  const v = (point: Point): number => (upright ? point.x : point.y);
  const point = (along: number, across: number): Point => (upright ? { x: across, y: along } : { x: along, y: across });
  const channel = (start: number, out: number, from: number, to: number): number | null => {
    let at = start;
    for (let step = 0; step < MAX_STEPS; step += 1) {
      const [low, high] = [Math.min(from, to), Math.max(from, to)];
      const strip = (half: number): Rect => thick(point(low, at), point(high, at), half);
      const [node, line] = [nodes.outermost(strip(CLEAR - 1), out, upright), taken.outermost(strip(APART - 1), out, upright)];
      if (node === null && line === null) return at;
      at = node !== null ? node + out * CLEAR : line! + out * APART;
    }
    return null;
  };
  const [ahead, behind]: [Side, Side] = upright ? ["bottom", "top"] : ["right", "left"];
  const through: [Side, Side] = onward > 0 ? [ahead, behind] : [behind, ahead];
  const found: (Detour & { cost: number })[] = [];
  const consider = (sides: [Side, Side], corners: Point[]): void => {
    const points = [endAt("source", sides[0]), ...corners, endAt("target", sides[1])];
    const last = points.length - 2;
    const isFree = points.slice(1).every((to, index) => !nodes.touches(thick(points[index]!, to, 3), index === 0 || index === last ? own : []));
    if (isFree) found.push({ sides, corners, cost: lengthOf(points) + corners.length * PER_CORNER });
  };
  for (const out of [1, -1]) {
    const side: Side = upright ? (out > 0 ? "right" : "left") : out > 0 ? "bottom" : "top";
    const [s, t] = [endAt("source", side), endAt("target", side)];
    const at = channel((out > 0 ? Math.max(v(s), v(t)) : Math.min(v(s), v(t))) + out * CLEAR, out, u(s), u(t));
    if (at !== null) consider([side, side], [point(u(s), at), point(u(t), at)]);
    const [from, to] = [endAt("source", through[0]), endAt("target", through[1])];
    const [first, last] = [u(from) + onward * LEAD, u(to) - onward * LEAD];
    for (const start of [v(from), v(to)]) {
      const lane = channel(start, out, first, last);
      if (lane !== null) consider(through, [point(first, v(from)), point(first, lane), point(last, lane), point(last, v(to))]);
    }
  }
  if (found.length === 0) return null;
  const { sides, corners } = found.reduce((best, each) => (each.cost < best.cost ? each : best));
  return { sides, corners };
}

/** The lines that a detour takes from others. */
export function takenBy(corners: readonly Point[]): Rect[] {
  return corners.slice(1).map((to, index) => thick(corners[index]!, to, 1));
}

/** Straight lines over corners that are round. */
export function angled(source: Point, corners: readonly Point[], target: Point): Curve {
  const points = [source, ...corners, target].filter((point, index, all) => index === 0 || point.x !== all[index - 1]!.x || point.y !== all[index - 1]!.y);
  const whole = lengthOf(points) || 1;
  const at = (t: number): Point => {
    let left = t * whole;
    for (let index = 1; index < points.length; index += 1) {
      const [a, b] = [points[index - 1]!, points[index]!];
      const length = distance(a, b);
      if (left <= length) return between(a, b, left / length);
      left -= length;
    }
    return points.at(-1)!;
  };
  const bends = points.slice(1, -1).map((here, index) => {
    const [before, after] = [points[index]!, points[index + 2]!];
    const [back, on] = [distance(before, here), distance(here, after)];
    const radius = Math.min(ROUND, back / 2, on / 2);
    const [start, end] = [between(here, before, radius / back), between(here, after, radius / on)];
    return `L${n(start.x)} ${n(start.y)}Q${n(here.x)} ${n(here.y)} ${n(end.x)} ${n(end.y)}`;
  });
  const end = points.at(-1)!;
  return { path: `M${n(source.x)} ${n(source.y)}${bends.join("")}L${n(end.x)} ${n(end.y)}`, at };
}

function thick(a: Point, b: Point, half: number): Rect {
  return { x: Math.min(a.x, b.x) - half, y: Math.min(a.y, b.y) - half, width: Math.abs(a.x - b.x) + 2 * half, height: Math.abs(a.y - b.y) + 2 * half };
}

function lengthOf(points: readonly Point[]): number {
  return points.slice(1).reduce((sum, point, index) => sum + distance(points[index]!, point), 0);
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function between(a: Point, b: Point, part: number): Point {
  return { x: a.x + (b.x - a.x) * part, y: a.y + (b.y - a.y) * part };
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}
