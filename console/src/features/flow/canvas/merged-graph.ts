import type { EdgeMarker, Edge, Node, NodeHandle, Position } from "@xyflow/react";
import type { FlowView } from "../../../api/types";
import { looks } from "./colours";
import { edgesOf, isGroup, nodesOf, SIGNS, type FlowEdge, type FlowNode, type Mark, type Operation } from "./elements";
import { leads, leadsTo } from "./outline";

/** The flow with changes drawn into it: what is added stands in its place, what is removed stays (as it was `before`), marked. */
export function drawn(flow: FlowView, operations: readonly Operation[], before: FlowView | null = null): { nodes: Node[]; edges: Edge[] } {
  const marks = new Map(operations.map((each) => [`${each.kind} ${each.id}`, each]));
  const added = (kind: string): unknown[] => operations.filter((each) => each.op === "add" && each.kind === kind && each.value !== undefined).map((each) => each.value);
  const gone = <T extends { id: string }>(kind: string, elements: readonly T[]): T[] => elements.filter((each) => marks.get(`${kind} ${each.id}`)?.op === "remove");
  const size = sizeOf(flow);
  const look = looks(flow);
  const all = [...nodesOf(flow), ...(added("node") as FlowNode[]), ...gone("node", before === null ? [] : nodesOf(before))].filter(once());
  const next = leads(flow);
  const places = new Map(all.map((node) => [node.id, node]));
  const frames = framesOf(all, size);
  const nodes = all.map((node) => {
    const change = marks.get(`node ${node.id}`);
    const mark = markOf(change);
    const set = (change?.set ?? {}) as Partial<FlowNode>;
    const frame = frames.get(node.id);
    const box = frame === undefined ? size : { width: frame.width, height: frame.height };
    return {
      id: node.id,
      type: "box",
      position: frame === undefined ? (set.position ?? node.position) : { x: frame.x, y: frame.y },
      data: { label: set.data?.label ?? node.data?.label ?? node.id, mark, group: isGroup(node), open: frame !== undefined, folded: node.data?.collapsed === true, look: mark === "" ? look(node.id) : {} },
      hidden: node.hidden === true,
      ...box,
      measured: box,
      handles: handlesOf(box),
      ...(frame === undefined ? {} : { zIndex: -1, draggable: false }),
      ariaLabel: `${SIGNS[mark]}${node.data?.label ?? node.id}${leadsTo(next.get(node.id) ?? [])}`,
    } satisfies Node;
  });
  const edges = [...edgesOf(flow), ...(added("edge") as FlowEdge[]), ...gone("edge", before === null ? [] : edgesOf(before))].filter(once()).flatMap((edge) => {
    const [source, target] = [shownFor(places, edge.source), shownFor(places, edge.target)];
    if (source === undefined || target === undefined || (source === target && edge.source !== edge.target)) return [];
    return [{ id: edge.id, source, target, label: edge.data?.label ?? undefined, markerEnd: ARROW, className: markOf(marks.get(`edge ${edge.id}`)) }];
  });
  return { nodes, edges };
}

/** What stands for a node: itself, or the folded group that hides it. */
function shownFor(nodes: ReadonlyMap<string, FlowNode>, id: string): string | undefined {
  const seen = new Set<string>();
  let node = nodes.get(id);
  while (node?.hidden === true && !seen.has(node.id)) {
    seen.add(node.id);
    node = nodes.get(node.parentGroupId ?? "");
  }
  return node?.hidden === true ? undefined : node?.id;
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

// Without a colour of its own it takes that of its edge (flow.css).
const ARROW = { type: "arrowclosed", color: null, width: 28, height: 28, markerUnits: "userSpaceOnUse" } as unknown as EdgeMarker;
const PADDING = 24;

/** Around the members of every group that is open; a group within it counts with its own frame. */
function framesOf(nodes: readonly FlowNode[], size: { width: number; height: number }): Map<string, Box> {
  const members = new Map<string, FlowNode[]>();
  for (const node of nodes) if (node.parentGroupId && node.hidden !== true) members.set(node.parentGroupId, [...(members.get(node.parentGroupId) ?? []), node]);
  const frames = new Map<string, Box>();
  const boxOf = (node: FlowNode, around: readonly string[]): Box => {
    const inside = members.get(node.id) ?? [];
    if (inside.length === 0 || around.includes(node.id)) return { ...node.position, ...size };
    const boxes = inside.map((member) => boxOf(member, [...around, node.id]));
    const [x, y] = [Math.min(...boxes.map((box) => box.x)) - PADDING, Math.min(...boxes.map((box) => box.y)) - 2 * PADDING];
    const [right, bottom] = [Math.max(...boxes.map((box) => box.x + box.width)), Math.max(...boxes.map((box) => box.y + box.height))];
    return { x, y, width: right + PADDING - x, height: bottom + PADDING - y };
  };
  for (const node of nodes) if (members.has(node.id) && isGroup(node)) frames.set(node.id, boxOf(node, []));
  return frames;
}

function sizeOf(flow: FlowView): { width: number; height: number } {
  const dimensions = (flow.settings as { dimensions?: { node?: { default?: { width?: number; height?: number } } } }).dimensions;
  return { width: dimensions?.node?.default?.width ?? 172, height: Math.min(dimensions?.node?.default?.height ?? 48, 56) };
}

function markOf(change: Operation | undefined): Mark {
  if (change === undefined) return "";
  return change.op === "add" ? "added" : change.op === "remove" ? "removed" : "changed";
}

function once(): (element: { id: string }) => boolean {
  const seen = new Set<string>();
  return ({ id }) => !seen.has(id) && seen.add(id) !== undefined;
}

const HANDLE = 6; // pixels, as the style sheet draws them

/** Where edges end. Without that the library draws every node once to find out, in sight or not: thousands take half a minute. */
function handlesOf({ width, height }: { width: number; height: number }): NodeHandle[] {
  const size = { y: (height - HANDLE) / 2, width: HANDLE, height: HANDLE };
  return [
    { ...size, type: "target", position: "left" as Position, x: -HANDLE / 2 },
    { ...size, type: "source", position: "right" as Position, x: width - HANDLE / 2 },
  ];
}

/** The nodes as they are now, with what is chosen or held here as it is: what somebody else changes takes no node out of a hand. */
export function keepHeld(now: readonly Node[], nodes: Node[], isMoving: (id: string) => boolean): Node[] {
  const held = new Map(now.filter((node) => node.selected || node.dragging || isMoving(node.id)).map((node) => [node.id, node]));
  if (held.size === 0) return nodes;
  return nodes.map((node) => {
    const mine = held.get(node.id);
    if (mine === undefined) return node;
    const own = mine.dragging || isMoving(node.id) ? { position: mine.position, dragging: mine.dragging } : {};
    return { ...node, ...own, selected: mine.selected ?? false };
  });
}
