import type { ChangeSet, FlowVersion } from "../../../api/types";
import type { Operation } from "../../../shared/flows/elements";
import { sentence, walked } from "../editing/announcements";

/** One version, and what is known of how it came about. */
export interface Step {
  version: number;
  sentence: string;
  name: string | null;
  author: string;
  time: string;
  change: ChangeSet | null;
  /** Of the first version of a branch: what it was made from. */
  source: FlowVersion["branched_from"];
}

const KINDS: Readonly<Record<FlowVersion["kind"], string>> = { create: "Created", change: "Changed", undo: "Undone", redo: "Redone" };

/** Every version with its sentence; what undid something has that of the change, as long as it stays undone; what was joined to a later one has none of its own. */
export function steps(versions: readonly FlowVersion[], changes: readonly ChangeSet[]): Step[] {
  const own = new Map(changes.map((change) => [change.version, change]));
  const within = (version: number): ChangeSet | undefined => changes.find((change) => change.base_version < version && version < change.version);
  const undone = new Map(changes.map((change) => [change.undone_version, change]));
  return versions.map((each) => {
    const taken = each.kind === "undo" ? undone.get(each.version) : undefined;
    const change = each.kind === "change" ? (own.get(each.version) ?? null) : null;
    const whole = each.kind === "change" && change === null ? within(each.version) : undefined;
    return {
      version: each.version,
      sentence: change !== null ? sentence(change.summary) : taken !== undefined ? walked("undo", taken.summary) : whole === undefined ? KINDS[each.kind] : `Part of: ${sentence(whole.summary)}`,
      name: each.name ?? null,
      author: each.actor_name ?? each.actor,
      time: each.time,
      change,
      source: each.branched_from,
    };
  });
}

/** Through what a change came, in words. */
export function through(origin: string): string {
  return origin.startsWith("llm") ? "a model" : origin === "proposal" ? "a proposal" : "by hand";
}

/** "2 added, 1 removed": what a version did to the one before it. */
export function tally(operations: readonly Operation[]): string {
  const number = (op: Operation["op"]): number => operations.filter((each) => each.op === op).length;
  const parts = [
    [number("add"), "added"],
    [number("update"), "changed"],
    [number("remove"), "removed"],
  ] as const;
  return parts.flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${word}`])).join(", ") || "nothing else is in it";
}
