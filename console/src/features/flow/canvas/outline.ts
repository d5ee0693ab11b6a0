import type { FlowView } from "../../../api/types";
import { edgesOf, nodesOf, type Operation } from "../../../shared/flows/elements";

/** The flow as lines of text: every node with where it leads. */
export function outline(flow: FlowView): { id: string; text: string }[] {
  const next = leads(flow);
  return nodesOf(flow).map((node) => {
    const to = next.get(node.id) ?? [];
    return { id: node.id, text: `${node.data?.label || node.id}${to.length === 0 ? "" : ` › ${to.join(", ")}`}` };
  });
}

const MAX_NAMED = 5;

/** For who does not see the edges. */
export function leadsTo(names: readonly string[]): string {
  if (names.length === 0) return "";
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : "";
  return `, leads to ${names.slice(0, MAX_NAMED).join(", ")}${more}`;
}

/** By node what its edges lead to, in words. */
export function leads(flow: FlowView): Map<string, string[]> {
  const names = new Map(nodesOf(flow).map((node) => [node.id, node.data?.label || node.id]));
  const next = new Map<string, string[]>();
  for (const edge of edgesOf(flow)) {
    const label = edge.data?.label ? ` (${edge.data.label})` : "";
    const to = `${names.get(edge.target) ?? edge.target}${label}`;
    const known = next.get(edge.source);
    if (known === undefined) next.set(edge.source, [to]);
    else known.push(to);
  }
  return next;
}

/** What a node or an edge is called, as people know it. */
export function nameOf(flow: FlowView, kind: string, id: string): string {
  const node = (key: string): string => nodesOf(flow).find((each) => each.id === key)?.data?.label || key;
  const edge = kind === "edge" ? edgesOf(flow).find((each) => each.id === id) : undefined;
  return edge === undefined ? node(id) : `${node(edge.source)} › ${node(edge.target)}`;
}

/** An operation in a line; ends of edges by their names, as they are before or with it. */
export function words(operation: Operation, name: (id: string) => string = (id) => id): string {
  const sign = operation.op === "add" ? "+" : operation.op === "remove" ? "-" : "~";
  const value = operation.value as { data?: { label?: string }; source?: string; target?: string } | undefined;
  const what = value?.data?.label ?? (value?.source === undefined ? name(operation.id) : `${name(value.source)} › ${name(value.target ?? "")}`);
  return `${sign} ${operation.kind} ${what}`;
}
