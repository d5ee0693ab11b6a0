import type { components } from "../../api/schema";

type Schemas = components["schemas"];
export type RecordMapping = Schemas["RecordMapping"];

const IDS = ["id", "_id", "uuid", "key"];
const NAMES = ["name", "title", "label", "subject"];
const TEXTS = ["text", "body", "abstract", "description", "content", "summary"];

const named = (columns: readonly string[], wanted: readonly string[]): string | undefined => wanted.map((name) => columns.find((column) => column.toLowerCase() === name)).find((column) => column !== undefined);

/** What each column of a file most likely is, by its name and whether it holds text; what is wrong with it is shown before anything is added. */
export function guessMapping(columns: readonly { name: string; type?: string }[], wanted: readonly string[]): RecordMapping {
  const names = columns.map(({ name }) => name);
  const id = named(names, IDS) ?? null;
  const name = named(names, NAMES) ?? null;
  const known = TEXTS.flatMap((each) => names.filter((column) => column.toLowerCase() === each));
  const taken = new Set([id, name, ...wanted]);
  const texts = columns.filter(({ name, type }) => !taken.has(name) && (type === undefined || type === "string")).map(({ name }) => name);
  const text = known.length > 0 ? known : texts.length > 0 ? texts.slice(0, 1) : name === null ? [] : [name];
  const fields = Object.fromEntries(wanted.flatMap((field) => (names.includes(field) ? [] : [[field, named(names, [field.toLowerCase()])] as const])).filter((entry): entry is readonly [string, string] => entry[1] !== undefined));
  return { id, name, text, fields };
}

/** Why records cannot be added so; null when they can. */
export function faultOf(mapping: RecordMapping): string | null {
  if ((mapping.text ?? []).length === 0) return "Choose at least one column for the text: it is what searches read.";
  return null;
}
