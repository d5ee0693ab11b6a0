export interface Suggestion {
  from: number;
  to: number;
  text: string;
}

/** The suggestion blocks of a document (`:++ {by=...}` to `:::` or `:::`-less forms), by their lines. */
export function acceptable(markdown: string): Suggestion[] {
  const lines = markdown.split("\n");
  const found: Suggestion[] = [];
  for (let start = 0; start < lines.length; start += 1) {
    const opening = /^(:{3,}) +suggest|^:\+\+/.exec(lines[start]!);
    if (opening === null) continue;
    const closing = opening[1] ?? ":++";
    let end = start + 1;
    while (end < lines.length && lines[end]!.trim() !== closing) end += 1;
    if (end >= lines.length) break;
    found.push({ from: start, to: end, text: lines.slice(start + 1, end).join("\n").trim() });
    start = end;
  }
  return found;
}

/** The document with the words in place of one answer, or nothing. */
export function decided(markdown: string, index: number, words: string | null): string {
  const suggestion = acceptable(markdown)[index];
  if (suggestion === undefined) return markdown;
  const lines = markdown.split("\n");
  lines.splice(suggestion.from, suggestion.to - suggestion.from + 1, ...(words === null ? [] : words.split("\n")));
  return lines.join("\n");
}
