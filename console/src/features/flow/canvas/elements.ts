import type { FlowView } from "../../../api/types";

export type Mark = "" | "added" | "changed" | "removed";

export interface FlowNode {
  id: string;
  type?: string;
  position: { x: number; y: number };
  data: { label?: string; description?: string | null; collapsed?: boolean | null };
  hidden?: boolean | null;
  parentGroupId?: string | null;
  isCollapsed?: boolean | null;
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

export function isGroup(node: FlowNode): boolean {
  return node.type === "group" || typeof node.isCollapsed === "boolean";
}
