import type { CollectionView } from "../../api/types";

export type FieldType = NonNullable<CollectionView["tables"][string]["fields"]>[string];
/** Filters as they are typed, by field. */
export type FilterTexts = Record<string, string>;

type Typed = { value: unknown } | { fault: string };

const BOUNDS: Readonly<Record<string, string>> = { ">=": "gte", "<=": "lte", ">": "gt", "<": "lt" };
const SIGNS = Object.fromEntries(Object.entries(BOUNDS).map(([sign, bound]) => [bound, sign]));

/** How a field of that type is filtered on. */
export const HINTS: Readonly<Record<FieldType, string>> = {
  keyword: 'a word, or ["one", "other"], or wor*, or != word, or null',
  text: 'a text, or ["one", "other"], or != text, or null',
  integer: "5, or 5, 7, or 1..9, or >= 5, or != 5, or null",
  float: "0.5, or 1..9, or >= 0.5, or != 0.5, or null",
  bool: "true, false or null",
  datetime: "2026-01-31, or 2025-01-01..2026-01-01, or < 2026-01-01, or null",
  geo: "5 km of 47.37, 8.54, or null",
};

/** The filter that a text means; null for none. */
export function filterOf(text: string, type: FieldType): Typed | null {
  const given = text.trim();
  if (given === "") return null;
  if (given === "null") return { value: null };
  const written = objectIn(given);
  if (written !== null) return { value: written };
  if (given.startsWith("!=")) {
    const negated = filterOf(given.slice(2), type);
    return negated === null ? { fault: HINTS[type] } : "value" in negated ? { value: { not: negated.value } } : negated;
  }
  if (type === "geo") return circleIn(given) ?? { fault: HINTS.geo };
  if (type === "keyword" && given.length > 1 && given.endsWith("*")) return { value: { prefix: given.slice(0, -1) } };
  if (type === "bool") return given === "true" || given === "false" ? { value: given === "true" } : { fault: HINTS.bool };
  if (type === "keyword" || type === "text") return { value: listIn(given) ?? given };
  // A bound of an integer may lie between two integers.
  const value = rangeIn(given, type === "datetime" ? timeOf : numberOf) ?? valuesIn(given, type === "datetime" ? timeOf : type === "integer" ? wholeOf : numberOf);
  return value === null ? { fault: HINTS[type] } : { value };
}

/** What is wrong with a text, for who types it. */
export function faultOf(text: string, type: FieldType): string | null {
  const typed = filterOf(text, type);
  return typed !== null && "fault" in typed ? `Write ${typed.fault}.` : null;
}

/** A filter as it would be typed. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.every((each) => typeof each === "number") ? value.join(", ") : JSON.stringify(value);
  if (typeof value !== "object" || value === null) return String(value);
  const bounds = value as Record<string, unknown>;
  const keys = Object.keys(bounds).sort().join();
  if (keys === "not") return `!= ${textOf(bounds.not)}`;
  if (keys === "prefix" && typeof bounds.prefix === "string") return `${bounds.prefix}*`;
  if (keys === "of,within_km" && Array.isArray(bounds.of)) return `${String(bounds.within_km)} km of ${bounds.of.join(", ")}`;
  if (!Object.keys(bounds).every((bound) => bound in SIGNS)) return JSON.stringify(value);
  if (Object.keys(bounds).sort().join() === "gte,lte") return `${String(bounds.gte)}..${String(bounds.lte)}`;
  return Object.entries(bounds).map(([bound, limit]) => `${SIGNS[bound] ?? bound} ${String(limit)}`).join(" ");
}

export function textsOf(filters: Readonly<Record<string, unknown>>): FilterTexts {
  return Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, textOf(value)]));
}

/** The filters that are typed as the API takes them; one that does not fit goes as it is, and the server says what is wrong. */
export function valuesOf(texts: FilterTexts, fields: Readonly<Record<string, FieldType>>): Record<string, unknown> {
  const typed = Object.entries(texts).map(([name, text]) => [name, fields[name] === undefined ? anyOf(text) : filterOf(text, fields[name]), text] as const);
  return Object.fromEntries(typed.flatMap(([name, each, text]) => (each === null ? [] : [[name, "value" in each ? each.value : text]])));
}

/** The fields of one table, or of all. */
export function fieldsOf(collection: CollectionView, table?: string): Record<string, FieldType> {
  const tables = table === undefined ? Object.values(collection.tables) : [collection.tables[table]];
  return Object.assign({}, ...tables.map((each) => each?.fields ?? {})) as Record<string, FieldType>;
}

/** The filter of a name that is not a field, such as `or`. */
function anyOf(text: string): Typed | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return filterOf(text, "keyword");
  }
}

/** An object of operators, as the API takes it. */
function objectIn(text: string): Record<string, unknown> | null {
  if (!text.startsWith("{")) return null;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return null;
  }
}

/** "5 km of 47.37, 8.54". */
function circleIn(text: string): Typed | null {
  const match = /^([\d.]+)\s*km\s+of\s+(-?[\d.]+)\s*[,;\s]\s*(-?[\d.]+)$/.exec(text);
  const numbers = match?.slice(1).map(numberOf) ?? [];
  const [km, latitude, longitude] = numbers;
  return km == null || latitude == null || longitude == null ? null : { value: { within_km: km, of: [latitude, longitude] } };
}

function listIn(text: string): unknown[] | null {
  if (!text.startsWith("[")) return null;
  try {
    const list = JSON.parse(text) as unknown;
    return Array.isArray(list) && list.length > 0 && list.every((each) => typeof each === "string") ? list : null;
  } catch {
    return null;
  }
}

type Read = (part: string) => unknown;

/** "1..9", ">= 1", "> 1, < 9". */
function rangeIn(text: string, read: Read): Record<string, unknown> | null {
  const [from, to, ...more] = text.split("..");
  const isSpan = to !== undefined && more.length === 0;
  if (!isSpan && !/^[<>]/.test(text)) return null;
  const parts = isSpan ? [["gte", from!], ["lte", to]] : [...text.matchAll(/(>=|<=|>|<)([^<>]*)/g)].map(([, sign, limit]) => [BOUNDS[sign!]!, limit!.replace(/,\s*$/, "")]);
  const bounds = parts.map(([bound, limit]) => [bound!, read(limit!)] as const);
  return bounds.some(([, limit]) => limit === null) ? null : Object.fromEntries(bounds);
}

function valuesIn(text: string, read: Read): unknown {
  const values = (text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text).split(",").map((part) => read(part.replaceAll('"', "")));
  if (values.includes(null)) return null;
  return values.length === 1 ? values[0] : values;
}

function numberOf(part: string): number | null {
  const number = part.trim() === "" ? NaN : Number(part);
  return Number.isFinite(number) ? number : null;
}

function wholeOf(part: string): number | null {
  const number = numberOf(part);
  return Number.isInteger(number) ? number : null;
}

function timeOf(part: string): string | null {
  const text = part.trim();
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text)) ? text : null;
}
