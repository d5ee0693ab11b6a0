import type { ToolCall } from "./announcements";

/** What others have changed since a version, as the refusal of an edit of that version lists it. */
export interface Changed {
  kind: "node" | "edge" | "setting";
  id: string;
  change: "added" | "changed" | "removed";
  members: readonly string[];
}

interface Params {
  nodeId?: string;
  edgeId?: string;
  groupId?: string;
  sourceNodeId?: string;
  targetNodeId?: string;
  parentNodeId?: string;
  memberIds?: readonly string[];
  label?: string;
  description?: string;
  shape?: string;
  line?: string;
  position?: object;
}

/** Those of the changes that the calls would undo unseen, or that took away what they are about. */
export function overlap(calls: readonly ToolCall[], changed: readonly Changed[]): Changed[] {
  return changed.filter((change) => calls.some((call) => isInTheWay(call, change)));
}

function isInTheWay({ name, params }: ToolCall, { kind, id, change, members }: Changed): boolean {
  const given = params as Params;
  // Colours are settings, by pointers that end with what they are of.
  if (kind === "setting") return name === "changeVisuals" && id.split("/").includes(given.nodeId ?? given.edgeId ?? "");
  const about = kind === "edge" ? given.edgeId : (given.nodeId ?? given.groupId);
  if (change === "removed") return id === about || mentioned(given).includes(id);
  if (id !== about) return false;
  if (name === "deleteNode" || name === "deleteEdge") return change === "added" || members.some((member) => member !== "position");
  if (name === "updateEdge") {
    const own = [(given.label ?? given.line) === undefined ? undefined : "data", given.sourceNodeId && "source", given.targetNodeId && "target"];
    return members.some((member) => own.includes(member));
  }
  if (name !== "updateNode") return false;
  const touched = [given.position && "position", (given.label ?? given.description ?? given.shape) === undefined ? undefined : "data"];
  return change === "added" || members.some((member) => touched.includes(member));
}

function mentioned({ sourceNodeId, targetNodeId, parentNodeId, memberIds = [] }: Params): (string | undefined)[] {
  return [sourceNodeId, targetNodeId, parentNodeId, ...memberIds];
}
