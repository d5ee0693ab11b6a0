import type { FileRows, TransformResult } from "../../api/types";

export type Drift = NonNullable<TransformResult["drift"]>[number];
type Column = FileRows["columns"][number];

const UNKNOWN = { expected: null, found: null, renamed_to: null };

/** How columns differ from those that code was made for: what is gone or of another type first, then what is new. */
export function driftOf(data: string, expected: readonly Column[], found: readonly Column[]): Drift[] {
  const now = new Map(found.map(({ name, type }) => [name, type]));
  const then = new Set(expected.map(({ name }) => name));
  const old = expected.flatMap(({ name, type }): Drift[] => {
    const here = now.get(name);
    if (here === undefined) return [{ ...UNKNOWN, data, column: name, change: "missing", expected: type }];
    return here === type ? [] : [{ ...UNKNOWN, data, column: name, change: "type", expected: type, found: here }];
  });
  const added = found.filter(({ name }) => !then.has(name)).map(({ name, type }): Drift => ({ ...UNKNOWN, data, column: name, change: "new", found: type }));
  return [...old, ...added];
}

/** "is missing", and what it has probably become. */
export function toldDrift(drift: Drift): string {
  switch (drift.change) {
    case "type":
      return `is ${drift.found ?? "?"} and was ${drift.expected ?? "?"}`;
    case "missing":
      return drift.renamed_to ? `is missing, probably renamed to ${drift.renamed_to}` : "is missing";
    case "new":
      return "is new";
  }
}
