import type { Effect, TransformResult } from "../api/types";

/** Where a column of a result comes from: by its lineage, else as far as the inputs, the effect and the code show. */
export interface Origin {
  column: string;
  /** Input columns, as "table.column"; none for what the code made. */
  from: string[];
  /** What became of it: "int to float", "sum 3 to 4". */
  changes: string[];
  /** Lines of the code that name it. */
  lines: { number: number; text: string }[];
}

const MOST_LINES = 3;

/** Of every column of the result, in its order. */
export function originsOf(result: TransformResult): Origin[] {
  const code = result.code.split("\n");
  const renamed = new Map(Object.entries((result.effect?.columns.renamed ?? {}) as Record<string, string>).map(([old, now]) => [now, old]));
  return (result.table?.columns ?? []).map((column) => {
    const old = renamed.get(column.name) ?? column.name;
    const sources = (result.inputs ?? []).flatMap((input) => input.columns.filter((each) => each.name === old).map((each) => ({ table: input.name, type: each.type })));
    const traced = result.lineage?.[column.name];
    const types = [...new Set(sources.map((source) => source.type))].filter((type) => type !== column.type);
    return {
      column: column.name,
      from: traced === undefined ? sources.map((source) => `${source.table}.${old}`) : traced === "literal" ? [] : traced,
      changes: [...types.map((type) => `${type} to ${column.type}`), ...(sources.length === 0 ? [] : changesOf(result.effect, column.name))],
      lines: code.flatMap((text, index) => (names(text, column.name) ? [{ number: index + 1, text: text.trim() }] : [])).slice(0, MOST_LINES),
    };
  });
}

/** One line for a title: "from data.amount (int to float); line 3". */
export function told({ from, changes, lines }: Origin): string {
  const source = from.length === 0 ? "made by the code" : `from ${from.join(", ")}`;
  const changed = changes.length === 0 ? "" : ` (${changes.join(", ")})`;
  return `${source}${changed}${lines.length === 0 ? "" : `; line ${lines.map((line) => line.number).join(", ")}`}`;
}

function changesOf(effect: Effect | null, name: string): string[] {
  return (["nulls", "sums"] as const).flatMap((measure) => {
    const pair = (effect?.[measure] as Record<string, [unknown, unknown]> | undefined)?.[name];
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
