import { around, framing } from "../../../shared/flows/boxes";
import type { Point, Rect } from "../../../shared/flows/elements";
import type { DrawnNode } from "./merged-graph";
import { rectOf } from "./routes";

export interface Move {
  nodeId: string;
  position: Point;
}

const SMALLEST = 0.01;

/** The saved positions of nodes that were moved to where they are drawn: what counts from a parent that moved as well stays as it is. */
export function savedMoves(nodes: readonly DrawnNode[], moved: ReadonlyMap<string, Point>): Move[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const shift = (id: string): Point => {
    const [node, to] = [byId.get(id), moved.get(id)];
    return node === undefined || to === undefined ? { x: 0, y: 0 } : { x: to.x - node.position.x, y: to.y - node.position.y };
  };
  return [...moved].flatMap(([nodeId, to]): Move[] => {
    const node = byId.get(nodeId);
    if (node === undefined || !node.data.anchors) return []; // a frame is where its members are
    const [own, parent] = [shift(nodeId), shift(node.data.parent)];
    if (Math.abs(own.x - parent.x) < SMALLEST && Math.abs(own.y - parent.y) < SMALLEST) return [];
    return [{ nodeId, position: { x: round(to.x - node.data.origin.x - parent.x), y: round(to.y - node.data.inset - node.data.origin.y - parent.y) } }];
  });
}

/** Where the inside of groups goes when the groups are moved. */
export function withInside(nodes: readonly DrawnNode[], moved: ReadonlyMap<string, Point>): Map<string, Point> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const all = new Map(moved);
  for (const [id, to] of moved) {
    const group = byId.get(id);
    for (const each of group?.data.inside ?? []) {
      const node = byId.get(each);
      if (node !== undefined && !moved.has(each)) all.set(each, { x: node.position.x + to.x - group!.position.x, y: node.position.y + to.y - group!.position.y });
    }
  }
  return all;
}

/** The frames of open groups, round their members as these are now. */
export function reframed(nodes: DrawnNode[]): DrawnNode[] {
  const frames = nodes.filter((node) => node.data.open && !node.data.anchors).sort((a, b) => a.data.inside.length - b.data.inside.length);
  if (frames.length === 0) return nodes;
  const boxes = new Map(nodes.map((node) => [node.id, rectOf(node)]));
  for (const frame of frames) boxes.set(frame.id, framing(frame.data.inside.flatMap((id) => boxes.get(id) ?? [])));
  return nodes.map((node) => {
    const box = node.data.open && !node.data.anchors ? boxes.get(node.id)! : null;
    if (box === null || (box.x === node.position.x && box.y === node.position.y && box.width === node.width && box.height === node.height)) return node;
    const size = { width: box.width, height: box.height };
    return { ...node, position: { x: box.x, y: box.y }, ...size, measured: size };
  });
}

export const ALIGNMENTS = ["left", "center", "right", "top", "middle", "bottom"] as const;
export type Alignment = (typeof ALIGNMENTS)[number];

/** Boxes on one line: at an edge of what they cover together, or in its middle. */
export function aligned(boxes: ReadonlyMap<string, Rect>, to: Alignment): Map<string, Point> {
  const whole = around([...boxes.values()]);
  const place = (box: Rect): Point => {
    if (to === "left") return { x: whole.x, y: box.y };
    if (to === "right") return { x: whole.x + whole.width - box.width, y: box.y };
    if (to === "center") return { x: whole.x + (whole.width - box.width) / 2, y: box.y };
    if (to === "top") return { x: box.x, y: whole.y };
    if (to === "bottom") return { x: box.x, y: whole.y + whole.height - box.height };
    return { x: box.x, y: whole.y + (whole.height - box.height) / 2 };
  };
  return new Map([...boxes].map(([id, box]) => [id, place(box)]));
}

/** The same gap between each two of them; the first and the last stay, unless all of them have to make room. */
export function distributed(boxes: ReadonlyMap<string, Rect>, along: "x" | "y"): Map<string, Point> {
  const length = along === "x" ? "width" : "height";
  const sorted = [...boxes].sort(([, a], [, b]) => a[along] - b[along]);
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined || sorted.length < 3) return new Map();
  const room = last[1][along] + last[1][length] - first[1][along] - sorted.reduce((sum, [, box]) => sum + box[length], 0);
  const gap = Math.max(room / (sorted.length - 1), 16);
  let at = first[1][along];
  return new Map(
    sorted.map(([id, box]) => {
      const place = { x: box.x, y: box.y, [along]: at };
      at += box[length] + gap;
      return [id, place];
    }),
  );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
