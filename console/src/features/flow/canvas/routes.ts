import { Grid } from "./grid";
import type { Rect } from "./elements";
import { curveOf, loopOf, sidesFor, wayOf, type Curve, type End } from "./lines";
import type { DrawnEdge, DrawnNode } from "./merged-graph";
import { portOf, type Side } from "./shapes";

/** Gives every link the sides at which it leaves and arrives, a separate lane between those, and words that cover no node; what stays as it was is the same object. */
export function routed(nodes: readonly DrawnNode[], edges: readonly DrawnEdge[], before: ReadonlyMap<string, DrawnEdge> = new Map()): DrawnEdge[] {
  const boxes = boxesOf(nodes);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const way = wayOf(boxes, edges);
  const sides = edges.map(({ source, target }): [Side, Side] => {
    const [a, b] = [boxes.get(source), boxes.get(target)];
    return a === undefined || b === undefined || source === target ? ["right", "top"] : sidesFor(a, b, way);
  });
  const lanes = lanesOf(edges, sides);
  const covered = new Grid(nodes.filter((node) => node.hidden !== true && !node.data.open).map((node) => boxes.get(node.id)!));
  return edges.map((edge, at) => {
    const [sourceHandle, targetHandle] = sides[at]!;
    const lane = lanes.get(at) ?? 0;
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    const words = wordsOf(edge);
    const wordsAt = words === "" || source === undefined || target === undefined ? 0.5 : clearOf(covered, words, curveOfLink(source, target, sourceHandle, targetHandle, lane));
    const known = before.get(edge.id);
    if (known !== undefined && isSame(known, edge) && known.sourceHandle === sourceHandle && known.targetHandle === targetHandle && known.data?.lane === lane && known.data.wordsAt === wordsAt) return known;
    return { ...edge, sourceHandle, targetHandle, data: { ...edge.data!, lane, wordsAt } };
  });
}

/** What is written on a link. */
export function wordsOf({ data }: DrawnEdge): string {
  return data === undefined ? "" : [data.label, data.mark === "removed" ? data.tag : ""].filter(Boolean).join(" ");
}

export function curveOfLink(source: DrawnNode, target: DrawnNode, from: Side, to: Side, lane: number): Curve {
  if (source === target) return loopOf(rectOf(source), lane);
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

function lanesOf(edges: readonly DrawnEdge[], sides: readonly (readonly [Side, Side])[]): Map<number, number> {
  const between = new Map<string, number[]>();
  edges.forEach(({ source, target }, at) => {
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
  const place = TRIED.find((t) => !covered.touches(box(t))) ?? 0.5;
  covered.add(box(place));
  return place;
}

function isSame(known: DrawnEdge, edge: DrawnEdge): boolean {
  const [a, b] = [known.data!, edge.data!];
  return known.source === edge.source && known.target === edge.target && known.selected === edge.selected && known.className === edge.className && a.label === b.label && a.tag === b.tag && a.color === b.color && a.bothWays === b.bothWays;
}

export function boxesOf(nodes: readonly DrawnNode[]): Map<string, Rect> {
  return new Map(nodes.map((node) => [node.id, rectOf(node)]));
}
