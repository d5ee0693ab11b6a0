// How the state of a document's block is marked: by colour, and by a sign that needs none.
export const TONES: Readonly<Record<string, "" | "good" | "bad" | "warn">> = { ok: "good", error: "bad", fresh: "", skipped: "warn", stale: "warn" };
export const SIGNS: Readonly<Record<string, string>> = { ok: "✓", error: "✗", fresh: "=", skipped: "○", stale: "~" };
