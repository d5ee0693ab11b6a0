const FENCE = /^ {0,3}(`{3,}|~{3,})/;
// An assignment at the beginning of a line, as Python, R, JavaScript and SQL kernels know them; not a comparison.
const ASSIGNED = /^(?:export\s+)?(?:(?:const|let|var)\s+)?([\p{L}_][\p{L}\p{N}_.]*)\s*(?:<-|=(?!=))/u;
const PARAMETER = /&\[([\p{L}_][\p{L}\p{N}_]*)\]/gu;

/** The names that may appear in `{{ }}`: what the document's code assigns, its parameters, and what the last run knew. */
export function namesIn(markdown: string, known: readonly string[] = []): string[] {
  const names = new Set(known);
  let fence: string | null = null;
  for (const line of markdown.split("\n")) {
    const mark = FENCE.exec(line)?.[1];
    if (fence === null && mark !== undefined) fence = mark;
    else if (fence !== null && mark?.startsWith(fence) && line.trim() === mark) fence = null;
    else if (fence !== null) {
      const name = ASSIGNED.exec(line)?.[1];
      if (name !== undefined) names.add(name);
    } else for (const [, name] of line.matchAll(PARAMETER)) names.add(name!);
  }
  return [...names].sort();
}
