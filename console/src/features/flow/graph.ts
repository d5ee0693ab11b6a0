import type { Edge, Node } from "@xyflow/react";
import type { FlowView } from "../../api/types";

export type Mark = "" | "added" | "changed" | "removed";

export interface FlowNode {
  id: string;
  type?: string;
  position: { x: number; y: number };
  data: { label?: string; description?: string | null };
  hidden?: boolean | null;
}

export interface FlowEdge {
  id: string;
  source: string;
  target: string;
  data?: { label?: string | null } | null;
}

/** One element's change, as proposals and differences list them. */
export interface Operation {
  op: "add" | "remove" | "update";
  kind: "node" | "edge" | "setting";
  id: string;
  value?: unknown;
  set?: Record<string, unknown>;
}

export const SIGNS: Readonly<Record<Mark, string>> = { "": "", added: "+ ", changed: "~ ", removed: "- " };

export function nodesOf(flow: FlowView): FlowNode[] {
  return flow.nodes as unknown as FlowNode[];
}

export function edgesOf(flow: FlowView): FlowEdge[] {
  return flow.edges as unknown as FlowEdge[];
}

/** The flow with changes drawn into it: what is added stands in its place, what is removed stays, marked. */
export function drawn(flow: FlowView, operations: readonly Operation[]): { nodes: Node[]; edges: Edge[] } {
  const marks = new Map(operations.map((each) => [`${each.kind} ${each.id}`, each]));
  const added = (kind: string): unknown[] => operations.filter((each) => each.op === "add" && each.kind === kind && each.value !== undefined).map((each) => each.value);
  const size = sizeOf(flow);
  const nodes = [...nodesOf(flow), ...(added("node") as FlowNode[])].filter(once()).map((node) => {
    const change = marks.get(`node ${node.id}`);
    const mark = markOf(change);
    const set = (change?.set ?? {}) as Partial<FlowNode>;
    return {
      id: node.id,
      type: "box",
      position: set.position ?? node.position,
      data: { label: set.data?.label ?? node.data?.label ?? node.id, mark, group: node.type === "group" },
      hidden: node.hidden === true,
      ...size,
      measured: size,
      ariaLabel: `${SIGNS[mark]}${node.data?.label ?? node.id}`,
    } satisfies Node;
  });
  const known = new Set(nodes.map((node) => node.id));
  const edges = [...edgesOf(flow), ...(added("edge") as FlowEdge[])].filter(once()).filter((edge) => known.has(edge.source) && known.has(edge.target));
  return { nodes, edges: edges.map((edge) => ({ id: edge.id, source: edge.source, target: edge.target, label: edge.data?.label ?? undefined, className: markOf(marks.get(`edge ${edge.id}`)) })) };
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

/** The flow as lines of text: every node with where it leads. */
export function outline(flow: FlowView): { id: string; text: string }[] {
  const nodes = nodesOf(flow);
  const names = new Map(nodes.map((node) => [node.id, node.data?.label || node.id]));
  const next = new Map<string, string[]>();
  for (const edge of edgesOf(flow)) {
    const label = edge.data?.label ? ` (${edge.data.label})` : "";
    next.set(edge.source, [...(next.get(edge.source) ?? []), `${names.get(edge.target) ?? edge.target}${label}`]);
  }
  return nodes.map((node) => {
    const to = next.get(node.id) ?? [];
    return { id: node.id, text: `${names.get(node.id)}${to.length === 0 ? "" : ` › ${to.join(", ")}`}` };
  });
}

export function words(operation: Operation): string {
  const sign = operation.op === "add" ? "+" : operation.op === "remove" ? "-" : "~";
  const value = operation.value as { data?: { label?: string }; source?: string; target?: string } | undefined;
  const what = value?.data?.label ?? (value?.source === undefined ? operation.id : `${value.source} › ${value.target}`);
  return `${sign} ${operation.kind} ${what}`;
}
