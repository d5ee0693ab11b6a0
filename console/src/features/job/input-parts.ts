/** A part of an input as one reads it. */
export type Asked = { name: string; text: string; as: "fact" | "words" | "code" };

const WORDS = new Set(["task", "question", "message"]);
const CODE = new Set(["code", "markdown", "yaml", "stdin"]);
const FACT = 120; // characters that fit on a line next to their name
const MOST = 20_000;

/**
 * The parts of an input that can be read without its JSON, the words first: texts, numbers, lists of short texts, and of what is larger how
 * much there is.
 */
export function askedOf(input: unknown): Asked[] {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return [];
  const parts = Object.entries(input).flatMap(([name, value]): Asked[] => {
    if (value === null || value === "" || (Array.isArray(value) && value.length === 0)) return [];
    if (typeof value === "string") return [{ name, text: cut(value), as: CODE.has(name) ? "code" : WORDS.has(name) || value.length > FACT || value.includes("\n") ? "words" : "fact" }];
    if (Array.isArray(value)) return [{ name, text: listed(value), as: "fact" }];
    if (typeof value === "object") return [{ name, text: Object.keys(value).join(", "), as: "fact" }];
    return [{ name, text: String(value), as: "fact" }];
  });
  const order = ["words", "code", "fact"] as const;
  return parts.sort((one, other) => order.indexOf(one.as) - order.indexOf(other.as));
}

function listed(values: readonly unknown[]): string {
  const named = values.map((value) => (typeof value === "string" ? value : ((value as { name?: unknown } | null)?.name ?? (value as { path?: unknown } | null)?.path)));
  const text = named.join("; ");
  return named.every((name) => typeof name === "string") && text.length <= 4 * FACT ? text : `${values.length} entries`;
}

function cut(text: string): string {
  return text.length <= MOST ? text : `${text.slice(0, MOST)}\n… ${text.length - MOST} more characters: the JSON below has them`;
}
