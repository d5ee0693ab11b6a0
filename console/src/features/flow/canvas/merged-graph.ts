import type { Edge, Node, NodeHandle, Position } from "@xyflow/react";
import type { FlowView } from "../../../api/types";
import { framesOf, placed } from "../../../shared/flows/boxes";
import { isPaint, looks, type Look } from "./colours";
import { edgesOf, groupOf, isGroup, labelOf, nodesOf, relativeParent, type FlowEdge, type FlowNode, type Line, type Mark, type Operation, type Point } from "../../../shared/flows/elements";
import { leads, leadsTo } from "./outline";
import { portOf, RADIUS, shapeOf, type Shape, type Side } from "../../../shared/flows/shapes";

/** What a node shows. */
export interface Content extends Record<string, unknown> {
  label: string;
  description: string;
  shape: Shape;
  radius: number;
  mark: Mark;
  /** What a proposal or a version did to it, in words. */
  tag: string;
  group: boolean;
  open: boolean;
  /** How many nodes a folded one represents. */
  folded: number;
  look: Look;
  inset: number;
  origin: Point;
  /** The node that its saved position counts from. */
  parent: string;
  /** What is drawn inside an open group. */
  inside: readonly string[];
  anchors: boolean;
}

export interface LinkContent extends Record<string, unknown> {
  label: string;
  line: Line;
  mark: Mark;
  tag: string;
  color: string | undefined;
  bothWays: boolean;
  lane: number;
  /** Of a way round other nodes; none of a link that goes straight. */
  corners: readonly Point[];
  /** Where on it its words are, from 0 to 1. */
  wordsAt: number;
}

export type DrawnNode = Node<Content>;
export type DrawnEdge = Edge<LinkContent>;

/** The flow with changes drawn into it: what is added is in its place, what is removed stays (as it was `before`), marked. */
export function drawn(flow: FlowView, operations: readonly Operation[], before: FlowView | null = null): { nodes: DrawnNode[]; edges: DrawnEdge[] } {
  const marks = new Map(operations.map((each) => [`${each.kind} ${each.id}`, each]));
  const added = (kind: string): unknown[] => operations.filter((each) => each.op === "add" && each.kind === kind && each.value !== undefined).map((each) => each.value);
  const gone = <T extends { id: string }>(kind: string, elements: readonly T[]): T[] => elements.filter((each) => marks.get(`${kind} ${each.id}`)?.op === "remove");
  const set = (kind: string, id: string): Record<string, unknown> => marks.get(`${kind} ${id}`)?.set ?? {};
  const was = [...nodesOf(flow), ...(added("node") as FlowNode[]), ...gone("node", before === null ? [] : nodesOf(before))].filter(once());
  const all = was.map((node) => ({ ...node, ...set("node", node.id) }) as FlowNode);
  const names = new Map([...was, ...(before === null ? [] : nodesOf(before))].map((node) => [node.id, node.data?.label ?? node.id]));
  const boxes = placed(flow, all);
  const frames = framesOf(all, boxes);
  const look = looks(flow);
  const next = leads(flow);
  const byId = new Map(all.map((node) => [node.id, node]));
  const folded = foldedIn(all, byId);
  const nodes = all.map((node): DrawnNode => {
    const mark = markOf(marks.get(`node ${node.id}`));
    const frame = frames.get(node.id);
    const own = boxes.get(node.id)!;
    const { x, y, width, height } = frame ?? own;
    const shape = isGroup(node) ? "rect" : shapeOf(node.data?.shape);
    const label = node.data?.label ?? node.id;
    return {
      id: node.id,
      type: "box",
      position: { x, y },
      data: {
        label,
        description: node.data?.description ?? "",
        shape,
        radius: radiusIn(flow, node.id),
        mark,
        tag: tagOf(mark, names.get(node.id) ?? "", label, Object.keys(set("node", node.id))),
        group: isGroup(node),
        open: frame !== undefined,
        folded: folded.get(node.id) ?? 0,
        look: mark === "" ? look(node) : {},
        inset: frame === undefined ? own.inset : 0,
        origin: own.origin,
        parent: relativeParent(node),
        inside: frame?.inside ?? [],
        anchors: frame?.anchors ?? true,
      },
      hidden: node.hidden === true,
      width,
      height,
      measured: { width, height },
      handles: handlesOf(shape, width, height),
      ...(frame === undefined ? {} : { zIndex: -1 - frame.inside.length, className: "is-frame", connectable: false }),
      ariaLabel: `${mark === "" ? "" : `${mark}: `}${label}${leadsTo(next.get(node.id) ?? [])}`,
    };
  });
  const lines = new Set<string>();
  const edges = [...edgesOf(flow), ...(added("edge") as FlowEdge[]), ...gone("edge", before === null ? [] : edgesOf(before))].filter(once()).flatMap((was): DrawnEdge[] => {
    const edge = { ...was, ...set("edge", was.id) } as FlowEdge;
    const [source, target] = [shownFor(byId, edge.source), shownFor(byId, edge.target)];
    const line = edge.data?.line ?? "arrow";
    if (source === undefined || target === undefined || (source === target && edge.source !== edge.target) || edge.hidden === true) return [];
    const mark = markOf(marks.get(`edge ${edge.id}`));
    // Of several from what is folded to the same node one is enough.
    const same = `${source}\n${target}\n${labelOf(edge)}\n${line}\n${mark}`;
    const moved = source !== edge.source || target !== edge.target;
    if (moved && lines.has(same)) return [];
    if (moved) lines.add(same);
    const stroke = edge.style?.stroke;
    return [
      {
        id: edge.id,
        type: "link",
        source,
        target,
        data: { label: labelOf(edge), line, mark, tag: tagOf(mark, labelOf(was), labelOf(edge), []), color: typeof stroke === "string" && isPaint(stroke) ? stroke : undefined, bothWays: Boolean(edge.markerStart), lane: 0, corners: [], wordsAt: 0.5 },
        className: `${mark} ${line}`,
        ariaLabel: `Link from ${byId.get(source)?.data?.label ?? source} to ${byId.get(target)?.data?.label ?? target}${labelOf(edge) === "" ? "" : `: ${labelOf(edge)}`}`,
      },
    ];
  });
  return { nodes, edges };
}

function tagOf(mark: Mark, was: string, is: string, set: readonly string[]): string {
  if (mark === "added") return "+ new";
  if (mark === "removed") return "− removed";
  if (mark === "") return "";
  if (was !== is) return `~ was “${was.length > 24 ? `${was.slice(0, 23)}…` : was}”`;
  return set.includes("position") ? "~ moved" : "~ changed";
}

/** What represents a node: itself, or the folded group that hides it. */
function shownFor(nodes: ReadonlyMap<string, FlowNode>, id: string): string | undefined {
  const seen = new Set<string>();
  let node = nodes.get(id);
  while (node?.hidden === true && !seen.has(node.id)) {
    seen.add(node.id);
    node = nodes.get(groupOf(node));
  }
  return node?.hidden === true ? undefined : node?.id;
}

/** How many hidden nodes each folded group represents; a folded root of a subtree counts as one. */
function foldedIn(nodes: readonly FlowNode[], byId: ReadonlyMap<string, FlowNode>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    if (node.data?.collapsed === true) counts.set(node.id, 1);
    const box = node.hidden === true ? shownFor(byId, node.id) : undefined;
    if (box !== undefined) counts.set(box, (counts.get(box) ?? 0) + 1);
  }
  return counts;
}

function radiusIn(flow: FlowView, id: string): number {
  const { overrides, default: common } = (flow.settings as { dimensions?: { node?: { overrides?: Record<string, { borderRadius?: number }>; default?: { borderRadius?: number } } } }).dimensions?.node ?? {};
  const radius = overrides?.[id]?.borderRadius ?? common?.borderRadius ?? 4;
  return radius === 4 ? RADIUS : radius; // 4 is what every flow begins with
}

function markOf(change: Operation | undefined): Mark {
  if (change === undefined) return "";
  return change.op === "add" ? "added" : change.op === "remove" ? "removed" : "changed";
}

function once(): (element: { id: string }) => boolean {
  const seen = new Set<string>();
  return ({ id }) => !seen.has(id) && seen.add(id) !== undefined;
}

export const HANDLE = 8; // pixels, as the style sheet draws them
export const SIDES: readonly Side[] = ["top", "right", "bottom", "left"];

/** Where links end. Without that the library draws every node once to find out, in sight or not: thousands take half a minute. */
export function handlesOf(shape: Shape, width: number, height: number): NodeHandle[] {
  return SIDES.map((side) => {
    const { x, y } = portOf(shape, width, height, side);
    return { id: side, type: "source", position: side as Position, x: x - HANDLE / 2, y: y - HANDLE / 2, width: HANDLE, height: HANDLE };
  });
}


/** The nodes as they are now, with what is chosen or held here as it is: a change by another user takes no node out of a hand. */
export function keepHeld(now: readonly DrawnNode[], nodes: DrawnNode[], isMoving: (id: string) => boolean): DrawnNode[] {
  const held = new Map(now.filter((node) => node.selected || node.dragging || isMoving(node.id)).map((node) => [node.id, node]));
  if (held.size === 0) return nodes;
  return nodes.map((node) => {
    const mine = held.get(node.id);
    if (mine === undefined) return node;
    const own = mine.dragging || isMoving(node.id) ? { position: mine.position, dragging: mine.dragging } : {};
    return { ...node, ...own, selected: mine.selected ?? false };
  });
}
