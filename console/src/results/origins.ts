import type { Effect, TransformResult } from "../api/types";

/** Where a column of a result comes from: by its lineage, else as far as the inputs, the effect and the code show. */
export interface Origin {
  column: string;
  /** Input columns, as "table.column", or whole tables; none for what the code made. */
  from: string[];
  /** Whether it holds, row by row, what its one input column holds. */
  copied: boolean;
  /** Whether no change of the data was seen to change it. */
  literal: boolean;
  /** Its change: "int to float", "sum 3 to 4". */
  changes: string[];
  /** Lines of the code that name it. */
  lines: { number: number; text: string }[];
}

const MAX_LINES = 3;

/** Of every column of the result, in its order. */
export function originsOf(result: TransformResult): Origin[] {
  const code = result.code.split("\n");
  const inputs = result.inputs ?? [];
  const renamed = new Map(Object.entries((result.effect?.columns.renamed ?? {}) as Record<string, string>).map(([old, now]) => [now, old]));
  return (result.table?.columns ?? []).map((column) => {
    const old = renamed.get(column.name) ?? column.name;
    const traced = own(result.lineage, column.name);
    const named = inputs.flatMap((input) => input.columns.filter((each) => each.name === old).map((each) => ({ name: `${input.name}.${old}`, type: each.type })));
    const sources = traced === undefined ? named : named.filter(({ name }) => traced !== "literal" && traced.includes(name));
    const from = traced === undefined ? sources.map(({ name }) => name) : traced === "literal" ? [] : traced;
    const types = [...new Set(sources.map(({ type }) => type))].filter((type) => type !== column.type);
    return {
      column: column.name,
      from: from.map((name) => (inputs.some((input) => input.name === name) ? `the rows of ${name}` : name)),
      copied: from.length === 1 && from[0] === `${inputs[0]?.name}.${old}` && types.length === 0 && isKept(result.effect, column),
      literal: traced === "literal",
      changes: [...types.map((type) => `${type} to ${column.type}`), ...(sources.length === 0 ? [] : changesOf(result.effect, column.name))],
      lines: code.flatMap((text, index) => (names(text, column.name) ? [{ number: index + 1, text: text.trim() }] : [])).slice(0, MAX_LINES),
    };
  });
}

/** One line for a title: "from data.amount (int to float); line 3". */
export function told({ from, copied, literal, changes, lines }: Origin): string {
  const made = literal ? "made by the code (a literal)" : "made by the code";
  const source = from.length === 0 ? made : `${copied ? "copied " : ""}from ${from.join(", ")}`;
  const changed = changes.length === 0 ? "" : ` (${changes.join(", ")})`;
  return `${source}${changed}${lines.length === 0 ? "" : `; line ${lines.map((line) => line.number).join(", ")}`}`;
}

/** How much of the result the data explain, or why it is not known where its columns come from. */
export function explainedWords({ lineage, explained }: Pick<TransformResult, "lineage" | "explained">): string {
  const unknown = Object.keys(lineage ?? {}).length === 0 ? "It was not found out which columns depend on which: they are matched by name. " : "";
  if (explained === null || explained === undefined) return unknown.trim();
  const percent = Math.min(99, Math.max(1, Math.round(explained * 100)));
  return `${unknown}${explained >= 1 ? "All" : explained <= 0 ? "None" : `${percent}%`} of the values depend on the data.`;
}

/** Whether the cells of a column are where they were in the first table; the effect compares them only where the rows line up. */
function isKept(effect: Effect | null, { name, type }: { name: string; type: string }): boolean {
  if (effect === null || effect.rows.before !== effect.rows.after || type === "list" || type === "struct") return false;
  const isMeasured = "kept" in (effect.keys ?? {}); // of a table larger than memory no cell is compared
  return isMeasured && own(effect.columns.changed as Record<string, number> | undefined, name) === undefined;
}

/** The value of a key of its own: a column may be named like what every object has. */
function own<Value>(values: Readonly<Record<string, Value>> | undefined, key: string): Value | undefined {
  return values !== undefined && Object.hasOwn(values, key) ? values[key] : undefined;
}

function changesOf(effect: Effect | null, name: string): string[] {
  return (["nulls", "sums"] as const).flatMap((measure) => {
    const pair = own(effect?.[measure] as Record<string, [unknown, unknown]> | undefined, name);
    return pair === undefined ? [] : [`${measure === "sums" ? "sum" : "nulls"} ${String(pair[0] ?? "–")} to ${String(pair[1] ?? "–")}`];
  });
}

/** Whether a line of code names the column as a word of its own, not as a part of another name. */
function names(line: string, column: string): boolean {
  const isPart = (character: string | undefined): boolean => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
  if (column === "" || line.trimStart().startsWith("#")) return false;
  for (let at = line.indexOf(column); at >= 0; at = line.indexOf(column, at + 1)) {
    if (!isPart(line[at - 1]) && !isPart(line[at + column.length])) return true;
  }
  return false;
}
