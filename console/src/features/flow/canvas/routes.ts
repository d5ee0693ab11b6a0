import { angled, detourFor, isBlocked, takenBy, type Detour } from "./detours";
import { Grid } from "./grid";
import type { Point, Rect } from "../../../shared/flows/elements";
import { curveOf, loopOf, sidesFor, wayOf, type Curve, type End } from "./lines";
import type { DrawnEdge, DrawnNode } from "./merged-graph";
import { portOf, type Side } from "../../../shared/flows/shapes";

// With more links than this, none is routed around nodes: it would take seconds, and no one could follow them.
const MAX_LED = 3_000;
const NO_CORNERS: readonly Point[] = [];

/** Gives every link the sides at which it leaves and arrives, a way round the nodes, a separate lane, and words that cover no node; what stays as it was is the same object. */
export function routed(nodes: readonly DrawnNode[], edges: readonly DrawnEdge[], before: ReadonlyMap<string, DrawnEdge> = new Map()): DrawnEdge[] {
  const boxes = boxesOf(nodes);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const way = wayOf(boxes, edges);
  const solid = nodes.filter((node) => node.hidden !== true && !node.data.open).map((node) => boxes.get(node.id)!);
  const [blocks, taken] = [new Grid(solid), new Grid([])];
  const direct = edges.map(({ source, target }): [Side, Side] => {
    const [a, b] = [boxes.get(source), boxes.get(target)];
    return a === undefined || b === undefined || source === target ? ["right", "top"] : sidesFor(a, b, way);
  });
  const detours = edges.map(({ source, target }, at): Detour | null => {
    const [from, to] = [byId.get(source), byId.get(target)];
    if (edges.length > MAX_LED || from === undefined || to === undefined || from === to) return null;
    const own = [boxes.get(source)!, boxes.get(target)!];
    if (!isBlocked(curveOfLink(from, to, ...direct[at]!, 0), blocks, own)) return null;
    const detour = detourFor((on, side) => endOf(on === "source" ? from : to, side), own, way, blocks, taken);
    if (detour !== null) for (const strip of takenBy(detour.corners)) taken.add(strip);
    return detour;
  });
  const lanes = lanesOf(edges, direct, detours);
  const covered = new Grid([...solid, ...nodes.filter((node) => node.hidden !== true && node.data.open).map(titleOf)]);
  return edges.map((edge, at) => {
    const [sourceHandle, targetHandle] = detours[at]?.sides ?? direct[at]!;
    const corners = detours[at]?.corners ?? NO_CORNERS;
    const lane = lanes.get(at) ?? 0;
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    const words = wordsOf(edge);
    const wordsAt = words === "" || source === undefined || target === undefined ? 0.5 : clearOf(covered, words, curveOfLink(source, target, sourceHandle, targetHandle, lane, corners));
    const known = before.get(edge.id);
    if (known !== undefined && isSame(known, edge) && known.sourceHandle === sourceHandle && known.targetHandle === targetHandle && known.data?.lane === lane && known.data.wordsAt === wordsAt && areSame(known.data.corners, corners)) return known;
    return { ...edge, sourceHandle, targetHandle, data: { ...edge.data!, lane, wordsAt, corners } };
  });
}

/** Where the name of an open group is. */
function titleOf({ position: { x, y }, width = 0, data }: DrawnNode): Rect {
  return { x, y, width: Math.min(width, 40 + data.label.length * 7), height: 28 };
}

/** What is written on a link. */
export function wordsOf({ data }: DrawnEdge): string {
  return data === undefined ? "" : [data.label, data.mark === "removed" ? data.tag : ""].filter(Boolean).join(" ");
}

export function curveOfLink(source: DrawnNode, target: DrawnNode, from: Side, to: Side, lane: number, corners: readonly Point[] = NO_CORNERS): Curve {
  if (source === target) return loopOf(rectOf(source), lane);
  if (corners.length > 0) return angled(endOf(source, from), corners, endOf(target, to));
  return curveOf(endOf(source, from), endOf(target, to), lane);
}

/** The point on the outline of a node at a side. */
export function endOf(node: DrawnNode, side: Side): End {
  const { x, y, width, height } = rectOf(node);
  const port = portOf(node.data.shape, width, height, side);
  return { x: x + port.x, y: y + port.y, side };
}

export function rectOf({ position, width = 0, height = 0 }: DrawnNode): Rect {
  return { ...position, width, height };
}

function lanesOf(edges: readonly DrawnEdge[], sides: readonly (readonly [Side, Side])[], detours: readonly (Detour | null)[]): Map<number, number> {
  const between = new Map<string, number[]>();
  edges.forEach(({ source, target }, at) => {
    if (detours[at] !== null) return; // it has a line of its own
    const key = [`${source} ${sides[at]![0]}`, `${target} ${sides[at]![1]}`].sort().join("\n");
    const known = between.get(key);
    if (known === undefined) between.set(key, [at]);
    else known.push(at);
  });
  const lanes = new Map<number, number>();
  for (const places of between.values()) if (places.length > 1) places.forEach((at, index) => lanes.set(at, index - (places.length - 1) / 2));
  return lanes;
}

const TRIED = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82];
const LETTER = 6.4; // about the width of one
const WIDEST = 180;

/** The place nearest to the middle where the words cover neither a node nor other words. */
function clearOf(covered: Grid, words: string, { at }: Curve): number {
  const lines = words.split("\n");
  const letters = Math.max(...lines.map((line) => line.length));
  const width = Math.min(letters * LETTER + 8, WIDEST);
  const height = 16 * lines.reduce((sum, line) => sum + Math.max(1, Math.ceil((line.length * LETTER) / (WIDEST - 8))), 0);
  const box = (t: number): Rect => {
    const { x, y } = at(t);
    return { x: x - width / 2, y: y - height / 2, width, height };
  };
  const place = TRIED.find((t) => !covered.touches(box(t))) ?? TRIED.reduce((best, t) => (covered.covers(box(t)) < covered.covers(box(best)) ? t : best));
  covered.add(box(place));
  return place;
}

function isSame(known: DrawnEdge, edge: DrawnEdge): boolean {
  const [a, b] = [known.data!, edge.data!];
  return known.source === edge.source && known.target === edge.target && known.selected === edge.selected && known.className === edge.className && a.label === b.label && a.tag === b.tag && a.color === b.color && a.bothWays === b.bothWays;
}

function areSame(some: readonly Point[], others: readonly Point[]): boolean {
  return some === others || (some.length === others.length && some.every((point, at) => point.x === others[at]!.x && point.y === others[at]!.y));
}

export function boxesOf(nodes: readonly DrawnNode[]): Map<string, Rect> {
  return new Map(nodes.map((node) => [node.id, rectOf(node)]));
}
