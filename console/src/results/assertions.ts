import type { Effect, TransformResult } from "../api/types";

export interface EffectLine {
  what: string;
  before: string | null;
  after: string | null;
  kept: boolean;
  assertion: string | null;
}

const NUMERIC = new Set(["int", "float", "decimal"]);
type Pair = readonly [unknown, unknown];

/** What an effect was measured of: the tables that went in, and the one that came out. */
export type Measured = Pick<TransformResult, "inputs" | "table">;

/** The effect as lines, each with the assertion that would demand it of every later run, where the grammar has one. */
export function assertable(effect: Effect, result: Measured): EffectLine[] {
  return [...rows(effect), ...columns(effect), ...sums(effect, result), ...nulls(effect), ...keys(effect)];
}

/** The same as text, a line for each. */
export function effectText(effect: Effect, result: Measured): string {
  const said = ({ what, before, after, kept }: EffectLine): string => {
    const values = [kept ? null : before, after].filter((value) => value !== null);
    return `${what}${values.length === 0 ? "" : `: ${values.join(" → ")}`}${kept ? " (unchanged)" : ""}`;
  };
  return assertable(effect, result).map(said).join("\n");
}

function rows(effect: Effect): EffectLine[] {
  const { before, after } = effect.rows as { before?: number; after?: number };
  const kept = before === after;
  return [{ what: "rows", before: text(before), after: text(after), kept, assertion: kept ? "rows unchanged" : `rows == ${after}` }];
}

function columns(effect: Effect): EffectLine[] {
  const { added = [], removed = [], renamed = {}, after = [] } = effect.columns as Record<string, never[]> & { renamed?: Record<string, string> };
  const lines: EffectLine[] = [];
  if (added.length > 0) lines.push(line("columns added", added.join(", "), contains(added)));
  if (removed.length > 0) lines.push(line("columns removed", removed.join(", "), null));
  for (const [old, now] of Object.entries(renamed)) lines.push({ what: "column renamed", before: old, after: now, kept: false, assertion: contains([now]) });
  if (lines.length === 0 && after.length > 0) lines.push({ ...line("columns", after.join(", "), contains(after)), kept: true });
  return lines;
}

/** The effect reports sums that changed; a numeric column in both tables without one kept its sum. */
function sums(effect: Effect, result: Measured): EffectLine[] {
  const changed = Object.entries((effect.sums ?? {}) as Record<string, Pair>).map(([name, [before, after]]) => ({
    what: `sum(${name})`,
    before: text(before),
    after: text(after),
    kept: false,
    assertion: null,
  }));
  const input = new Map((result.inputs?.[0]?.columns ?? []).map((column) => [column.name, column.type]));
  const kept = (result.table?.columns ?? [])
    .filter((column) => NUMERIC.has(column.type) && NUMERIC.has(input.get(column.name) ?? "") && !(column.name in (effect.sums ?? {})))
    .map((column) => ({ what: `sum(${column.name})`, before: null, after: null, kept: true, assertion: simple(column.name) ? `sum(${column.name}) unchanged` : null }));
  return [...changed, ...kept];
}

function nulls(effect: Effect): EffectLine[] {
  return Object.entries((effect.nulls ?? {}) as Record<string, Pair>).map(([name, [before, after]]) => ({
    what: `nulls in ${name}`,
    before: text(before),
    after: text(after),
    kept: false,
    assertion: Number(after) === 0 && simple(name) ? `no_nulls(${name})` : null,
  }));
}

function keys(effect: Effect): EffectLine[] {
  const { kept = [], lost = [], gained = [] } = (effect.keys ?? {}) as Record<string, string[]>;
  const told = [...kept, ...gained].map(String);
  const lines = told.map((name) => ({ ...line("key", name, simple(name) ? `unique(${name})` : null), kept: kept.includes(name) }));
  if (lost.length > 0) lines.push({ ...line("no key any more", lost.join(", "), null), kept: false });
  const { before, after } = (effect.duplicates ?? {}) as { before?: number; after?: number };
  if (before || after) lines.push({ what: "duplicate rows", before: text(before), after: text(after), kept: before === after, assertion: null });
  return lines;
}

function line(what: string, after: string, assertion: string | null): EffectLine {
  return { what, before: null, after, kept: false, assertion };
}

function contains(names: readonly string[]): string | null {
  return names.every(simple) ? `columns contain ${names.join(", ")}` : null;
}

/** Names that the grammar of assertions takes without quotes. */
function simple(name: string): boolean {
  return /^[\p{L}_][\p{L}\p{N}_ .-]*$/u.test(name) && !name.includes(",");
}

function text(value: unknown): string {
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 6 }) : String(value ?? "–");
}
