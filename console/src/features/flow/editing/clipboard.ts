import type { FlowView } from "../../../api/types";
import { placed } from "../../../shared/flows/boxes";
import { edgesOf, groupOf, isGroup, labelOf, nodesOf, type Line, type Point, type Size } from "../../../shared/flows/elements";
import type { Shape } from "../../../shared/flows/shapes";
import type { ToolCall } from "./announcements";

interface Copied {
  id: string;
  label: string;
  description: string;
  shape: Shape | undefined;
  position: Point;
  size: Partial<Size> | undefined;
  colors: Record<string, string> | undefined;
  /** The group among what was copied that it is in. */
  group: string;
  /** Of a group: whether its members are shown. */
  open: boolean | undefined;
}

/** Nodes with the links between them, as text that can be pasted into any flow. */
export interface Clip {
  kind: "assay.flow";
  nodes: Copied[];
  edges: { source: string; target: string; label: string; line: Line | undefined }[];
}

interface Settings {
  colors?: { perNode?: Record<string, Record<string, string>> };
  dimensions?: { node?: { overrides?: Record<string, Partial<Size>> } };
}

/** What is copied of the nodes that are chosen: of a group all that is in it. */
export function copied(flow: FlowView, chosen: readonly string[]): Clip {
  const { colors, dimensions } = flow.settings as Settings;
  const all = nodesOf(flow);
  const wanted = new Set(chosen);
  const byId = new Map(all.map((node) => [node.id, node]));
  const isWithin = (id: string, seen: readonly string[] = []): boolean => {
    if (wanted.has(id)) return true;
    const group = groupOf(byId.get(id)!);
    return byId.has(group) && !seen.includes(group) && isWithin(group, [...seen, id]);
  };
  const taken = all.filter((node) => isWithin(node.id));
  const ids = new Set(taken.map((node) => node.id));
  const boxes = placed(flow, all);
  return {
    kind: "assay.flow",
    nodes: taken.map((node) => {
      const box = boxes.get(node.id)!;
      const group = groupOf(node);
      return {
        id: node.id,
        label: node.data?.label ?? node.id,
        description: node.data?.description ?? "",
        shape: node.data?.shape,
        position: { x: box.x, y: box.y - box.inset },
        size: dimensions?.node?.overrides?.[node.id],
        colors: colors?.perNode?.[node.id],
        group: ids.has(group) ? group : "",
        open: isGroup(node) ? node.isCollapsed !== true : undefined,
      };
    }),
    edges: edgesOf(flow)
      .filter((edge) => ids.has(edge.source) && ids.has(edge.target))
      .map((edge) => ({ source: edge.source, target: edge.target, label: labelOf(edge), line: edge.data?.line })),
  };
}

/** The clip in a text; null when it is something else. */
export function clipOf(text: string): Clip | null {
  if (!text.startsWith("{")) return null;
  try {
    const clip = JSON.parse(text) as Partial<Clip>;
    return clip.kind === "assay.flow" && Array.isArray(clip.nodes) && Array.isArray(clip.edges) ? (clip as Clip) : null;
  } catch {
    return null;
  }
}

/** The calls that paste a clip, moved by that much, and the ids of what they make. */
export function pasting(clip: Clip, by: Point, newId: (label: string) => string): { calls: ToolCall[]; ids: string[] } {
  const ids = new Map(clip.nodes.map((node) => [node.id, newId(node.label)]));
  const members = new Map<string, string[]>();
  for (const node of clip.nodes) if (node.group !== "") members.set(node.group, [...(members.get(node.group) ?? []), ids.get(node.id)!]);
  const isMade = (node: Copied): boolean => node.open !== undefined && (members.get(node.id)?.length ?? 0) > 1;
  const groups = clip.nodes.filter(isMade).sort((a, b) => depthOf(clip, b) - depthOf(clip, a));
  const position = (node: Copied): Point => ({ x: node.position.x + by.x, y: node.position.y + by.y });
  const calls: ToolCall[] = clip.nodes.flatMap((node) => {
    if (isMade(node)) return [];
    const params = { id: ids.get(node.id), label: node.label || " ", position: position(node), ...(node.description === "" ? {} : { description: node.description }), ...(node.shape === undefined ? {} : { shape: node.shape }), ...wholeSize(node.size) };
    return [{ name: "addNode", params }];
  });
  for (const group of groups) calls.push({ name: "createGroup", params: { id: ids.get(group.id), label: group.label, memberIds: members.get(group.id), position: position(group) } });
  for (const { source, target, label, line } of clip.edges) {
    calls.push({ name: "addEdge", params: { sourceNodeId: ids.get(source), targetNodeId: ids.get(target), ...(label === "" ? {} : { label }), ...(line === undefined ? {} : { line }) } });
  }
  for (const node of clip.nodes) {
    for (const [property, color] of Object.entries(node.colors ?? {})) calls.push({ name: "changeVisuals", params: { target: "node", nodeId: ids.get(node.id), property, color } });
  }
  for (const group of [...groups].reverse()) if (group.open) calls.push({ name: "toggleGroupExpansion", params: { groupId: ids.get(group.id), expand: true } });
  return { calls, ids: clip.nodes.filter((node) => node.group === "").map((node) => ids.get(node.id)!) };
}

function wholeSize(size: Partial<Size> | undefined): { size?: Size } {
  return size?.width === undefined || size.height === undefined ? {} : { size: { width: size.width, height: size.height } };
}

function depthOf(clip: Clip, node: Copied): number {
  const groups = new Map(clip.nodes.map((each) => [each.id, each.group]));
  let depth = 0;
  for (let at = node.group; at !== "" && depth < clip.nodes.length; at = groups.get(at) ?? "") depth += 1;
  return depth;
}

/** An id that says what the node is and that is not taken. */
export function freshId(label: string, taken: ReadonlySet<string>): string {
  const plain = label.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "").slice(0, 60);
  if (plain !== "" && !taken.has(plain)) return plain;
  const [number] = crypto.getRandomValues(new Uint32Array(1));
  return `${plain || "node"}_${number!.toString(36)}`;
}
