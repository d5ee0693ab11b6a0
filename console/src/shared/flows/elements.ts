import type { FlowView } from "../../api/types";
import type { Shape } from "./shapes";

export type Mark = "" | "added" | "changed" | "removed";

export interface Point {
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

export type Rect = Point & Size;

export interface FlowNode {
  id: string;
  type?: string;
  position: Point;
  data: { label?: string; description?: string | null; collapsed?: boolean | null; shape?: Shape };
  hidden?: boolean | null;
  parentGroupId?: string | null;
  isCollapsed?: boolean | null;
  /** React Flow's own: the node whose corner the position counts from, and sizes. */
  parentId?: string | null;
  parentNode?: string | null;
  width?: unknown;
  height?: unknown;
  style?: Record<string, unknown> | null;
  measured?: Record<string, unknown> | null;
}

export type Line = "arrow" | "open" | "dotted" | "dotted_open" | "thick" | "thick_open" | "invisible";

export interface FlowEdge {
  id: string;
  source: string;
  target: string;
  hidden?: boolean | null;
  label?: unknown;
  style?: Record<string, unknown> | null;
  markerStart?: unknown;
  data?: { label?: string | null; line?: Line } | null;
}

/** One element's change, as proposals and differences list them. */
export interface Operation {
  op: "add" | "remove" | "update";
  kind: "node" | "edge" | "setting";
  id: string;
  value?: unknown;
  set?: Record<string, unknown>;
}

export const SIGNS: Readonly<Record<Mark, string>> = { "": "", added: "+ ", changed: "~ ", removed: "− " };

export function nodesOf(flow: FlowView): FlowNode[] {
  return flow.nodes as unknown as FlowNode[];
}

export function edgesOf(flow: FlowView): FlowEdge[] {
  return flow.edges as unknown as FlowEdge[];
}

export function isGroup(node: FlowNode): boolean {
  return node.type === "group" || typeof node.isCollapsed === "boolean";
}

/** The node that a position counts from, as React Flow has it. */
export function relativeParent(node: FlowNode): string {
  return node.parentId || node.parentNode || "";
}

export function groupOf(node: FlowNode): string {
  return node.parentGroupId || relativeParent(node);
}

export function labelOf(edge: FlowEdge): string {
  return edge.data?.label || (typeof edge.label === "string" ? edge.label : "");
}
