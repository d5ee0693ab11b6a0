import type { FlowView } from "../../api/types";
import { groupOf, isGroup, relativeParent, type FlowNode, type Point, type Rect, type Size } from "./elements";
import { isTall, shapeOf } from "./shapes";

const PADDING = 20;
const TITLE = 34; // the name of a group, above its members
const DEFAULT: Size = { width: 172, height: 76 };
const LINE = 17;
const LETTER = 6.6; // about the width of one

interface Dimensions {
  default?: Partial<Size>;
  overrides?: Record<string, Partial<Size>>;
}

/** Where a node is drawn, and how far that is from the place that is saved of it. */
export interface Placed extends Rect {
  /** The place that the saved position counts from. */
  origin: Point;
  /** A node without a stated size is as high as its text, centered in its cell. */
  inset: number;
}

/** Every node where it is drawn, whatever parents its position counts from. */
export function placed(flow: FlowView, nodes: readonly FlowNode[]): Map<string, Placed> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const dimensions = ((flow.settings as { dimensions?: { node?: Dimensions } }).dimensions?.node ?? {}) satisfies Dimensions;
  const corners = new Map<string, Point>();
  const cornerOf = (node: FlowNode, around: readonly string[]): Point => {
    const known = corners.get(node.id);
    if (known !== undefined) return known;
    const parent = byId.get(relativeParent(node));
    const base = parent === undefined || around.includes(parent.id) ? { x: 0, y: 0 } : cornerOf(parent, [...around, node.id]);
    const corner = { x: base.x + number(node.position?.x), y: base.y + number(node.position?.y) };
    corners.set(node.id, corner);
    return corner;
  };
  return new Map(
    nodes.map((node) => {
      const corner = cornerOf(node, [node.id]);
      const { size, inset } = sizeOf(node, dimensions);
      const origin = { x: corner.x - number(node.position?.x), y: corner.y - number(node.position?.y) };
      return [node.id, { x: corner.x, y: corner.y + inset, ...size, origin, inset }];
    }),
  );
}

function sizeOf(node: FlowNode, dimensions: Dimensions): { size: Size; inset: number } {
  const own = { ...dimensions.overrides?.[node.id] };
  for (const holder of [node as { width?: unknown; height?: unknown }, node.style, node.measured]) {
    own.width ??= pixels(holder?.width);
    own.height ??= pixels(holder?.height);
  }
  const room = { width: dimensions.default?.width ?? DEFAULT.width, height: dimensions.default?.height ?? DEFAULT.height };
  const width = own.width ?? room.width;
  if (own.height !== undefined) return { size: { width, height: own.height }, inset: 0 };
  if (room.height !== DEFAULT.height || isTall(shapeOf(node.data?.shape))) return { size: { width, height: room.height }, inset: 0 };
  const height = Math.min(room.height, 26 + LINE * linesOf(node, width));
  return { size: { width, height }, inset: (room.height - height) / 2 };
}

function linesOf({ data }: FlowNode, width: number): number {
  const most = Math.max(4, Math.floor((width - 24) / LETTER));
  const lines = (data?.label ?? "").split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / most)), 0);
  return Math.min(lines + (data?.description ? 1 : 0), 3);
}

function pixels(value: unknown): number | undefined {
  const size = typeof value === "string" ? Number(/^\s*(\d{1,6}(?:\.\d{1,6})?)(?:px)?\s*$/.exec(value)?.[1]) : value;
  return typeof size === "number" && Number.isFinite(size) && size > 0 ? Math.min(size, 100_000) : undefined;
}

function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** What boxes cover together; nothing of none. */
export function around(boxes: readonly Rect[]): Rect {
  if (boxes.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    [left, top] = [Math.min(left, box.x), Math.min(top, box.y)];
    [right, bottom] = [Math.max(right, box.x + box.width), Math.max(bottom, box.y + box.height)];
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** The frame of a group whose members are there. */
export function framing(members: readonly Rect[]): Rect {
  const { x, y, width, height } = around(members);
  return { x: x - PADDING, y: y - TITLE, width: width + 2 * PADDING, height: height + TITLE + PADDING };
}

export interface Frame extends Rect {
  /** What is drawn inside it, at any depth. */
  inside: readonly string[];
  /** Whether its own position is one that others count from. */
  anchors: boolean;
}

/** Around the members of every group that is open; a group within it counts with its own frame. */
export function framesOf(nodes: readonly FlowNode[], boxes: ReadonlyMap<string, Placed>): Map<string, Frame> {
  const members = new Map<string, FlowNode[]>();
  for (const node of nodes) {
    const group = groupOf(node);
    if (group === "" || node.hidden === true || !boxes.has(group)) continue;
    const known = members.get(group);
    if (known === undefined) members.set(group, [node]);
    else known.push(node);
  }
  const frames = new Map<string, Frame>();
  const frameOf = (node: FlowNode, outer: readonly string[]): Frame | undefined => {
    const known = frames.get(node.id);
    const within = members.get(node.id) ?? [];
    if (known !== undefined || within.length === 0 || outer.includes(node.id)) return known;
    const anchors = within.some((member) => relativeParent(member) === node.id);
    if (!anchors && !isGroup(node)) return undefined;
    const rects: Rect[] = within.map((member) => frameOf(member, [...outer, node.id]) ?? boxes.get(member.id)!);
    const needed = framing(rects);
    const box = anchors ? around([needed, boxes.get(node.id)!]) : needed;
    const inside = within.flatMap((member) => [member.id, ...(frames.get(member.id)?.inside ?? [])]);
    const frame = { ...box, inside, anchors };
    frames.set(node.id, frame);
    return frame;
  };
  for (const node of nodes) if (members.has(node.id)) frameOf(node, []);
  return frames;
}
