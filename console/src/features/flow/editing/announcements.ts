import type { FlowView } from "../../../api/types";
import { nameOf } from "../canvas/outline";

/** `before` is the flow that one saw when one began; without it, the one that is shown. */
export type Call = (name: string, params: object, before?: FlowView) => void;

export interface ToolCall {
  name: string;
  params: object;
}

interface Params {
  nodeId?: string;
  label?: string;
  edgeId?: string;
  sourceNodeId?: string;
  targetNodeId?: string;
  groupId?: string;
  memberIds?: string[];
  expand?: boolean;
  collapsed?: boolean;
  description?: string;
  size?: object;
  shape?: string;
  line?: string;
}

/** What a screen reader says of a node on the canvas. */
export const HELP = {
  "node.a11yDescription.default": "Enter chooses the node, with Ctrl further ones. The arrows follow its edges, with Alt they move it. F2 renames it, Delete removes it, Escape lets go of it.",
  "node.a11yDescription.keyboardDisabled": "Enter chooses the node. The arrows follow its edges.",
};

/** What was done, as one says it: for who does not see the canvas. */
export function said(flow: FlowView, calls: readonly ToolCall[]): string {
  if (calls.length > 1 && new Set(calls.map((each) => each.name)).size === 1) return `${one(flow, calls[0]!)} and ${calls.length - 1} more`;
  return calls.map((each) => one(flow, each)).join(", ");
}

function one(flow: FlowView, { name, params }: ToolCall): string {
  const given = params as Params;
  const node = (id: string | undefined): string => nameOf(flow, "node", id ?? "");
  switch (name) {
    case "addNode":
      return `Added ${given.label}`;
    case "updateNode":
      return changed(given, node(given.nodeId));
    case "deleteNode":
      return `Deleted ${node(given.nodeId)}`;
    case "addEdge":
      return `Linked ${node(given.sourceNodeId)} to ${node(given.targetNodeId)}`;
    case "updateEdge":
      if (given.line !== undefined) return `Drew the link ${nameOf(flow, "edge", given.edgeId ?? "")} otherwise`;
      if (given.label === undefined) return `Gave the link ${nameOf(flow, "edge", given.edgeId ?? "")} another end`;
      return given.label ? `Wrote ${given.label} on the link ${nameOf(flow, "edge", given.edgeId ?? "")}` : `Took the words off the link ${nameOf(flow, "edge", given.edgeId ?? "")}`;
    case "deleteEdge":
      return `Deleted the link ${nameOf(flow, "edge", given.edgeId ?? "")}`;
    case "changeVisuals":
      return `Coloured ${node(given.nodeId)}`;
    case "createGroup":
      return `Grouped ${(given.memberIds ?? []).map(node).join(", ")}`;
    case "ungroup":
      return `Dissolved the group ${node(given.groupId)}`;
    case "toggleGroupExpansion":
      return `${given.expand ? "Unfolded" : "Folded"} ${node(given.groupId)}`;
    case "toggleSubtreeCollapse":
      return `${given.collapsed ? "Folded" : "Unfolded"} what follows ${node(given.nodeId)}`;
    default:
      return name;
  }
}

function changed(given: Params, node: string): string {
  if (given.label !== undefined) return `Renamed ${node} to ${given.label}`;
  if (given.description !== undefined) return `Described ${node}`;
  if (given.size !== undefined) return `Resized ${node}`;
  return given.shape === undefined ? `Moved ${node}` : `Gave ${node} another shape`;
}

// What the server writes of an edit by hand, by the name of the call: of one, of several.
const PHRASES: Readonly<Record<string, readonly [string, string]>> = {
  addNode: ["Added a node", "Added # nodes"],
  updateNode: ["Changed a node", "Changed # nodes"],
  deleteNode: ["Deleted a node", "Deleted # nodes"],
  addEdge: ["Added a link", "Added # links"],
  updateEdge: ["Changed a link", "Changed # links"],
  deleteEdge: ["Deleted a link", "Deleted # links"],
  changeVisuals: ["Changed a colour", "Changed # colours"],
  changeDimensions: ["Changed a size", "Changed # sizes"],
  createGroup: ["Made a group", "Made # groups"],
  ungroup: ["Dissolved a group", "Dissolved # groups"],
  toggleGroupExpansion: ["Folded or unfolded a group", "Folded or unfolded # groups"],
  toggleSubtreeCollapse: ["Folded or unfolded what follows a node", "Folded or unfolded what follows # nodes"],
  autoLayout: ["Laid out", "Laid out"],
};

const LAYOUTS: Readonly<Record<string, string>> = { "Layout LR": "Laid out, left to right", "Layout TB": "Laid out, top to bottom" };

/** "addNode x2" as a sentence; the request to a person or a model stays as it was written. */
export function sentence(summary: string): string {
  if (LAYOUTS[summary] !== undefined) return LAYOUTS[summary];
  const parts = summary.split(", ").map((part) => {
    const [, name, count] = /^(\w+)(?: x(\d+))?$/.exec(part) ?? [];
    const phrase = PHRASES[name ?? ""];
    return phrase === undefined ? undefined : count === undefined ? phrase[0] : phrase[1].replace("#", count);
  });
  if (parts.some((part) => part === undefined)) return summary;
  const [first, ...others] = parts as string[];
  return [first, ...others.map((part) => part[0]!.toLowerCase() + part.slice(1))].join(", ");
}

/** "Undone: Added a node"; the change as its line of the history says it. */
export function walked(to: "undo" | "redo", summary: string | null | undefined): string {
  const done = to === "undo" ? "Undone" : "Redone";
  return summary ? `${done}: ${sentence(summary)}` : done;
}
