export interface DiffLine {
  sign: " " | "+" | "-";
  text: string;
  before: number | null;
  after: number | null;
}

const MAX_CELLS = 4_000_000;

/** Two texts line by line, by their longest common subsequence; texts too long for it are shown as replaced whole. */
export function changes(before: string, after: string): DiffLine[] {
  const old = before.split("\n");
  const now = after.split("\n");
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old[old.length - 1 - end] === now[now.length - 1 - end]) end += 1;
  const lines: DiffLine[] = old.slice(0, start).map((text, index) => same(text, index + 1, index + 1));
  lines.push(...middle(old.slice(start, old.length - end), now.slice(start, now.length - end), start));
  for (let index = end; index > 0; index -= 1) {
    lines.push(same(old[old.length - index]!, old.length - index + 1, now.length - index + 1));
  }
  return lines;
}

/** The lines of both sides at the same height: what one side lacks is null. */
export function pairsOf(lines: readonly DiffLine[]): [DiffLine | null, DiffLine | null][] {
  const pairs: [DiffLine | null, DiffLine | null][] = [];
  let open = 0; // the first pair whose right side is still free
  for (const line of lines) {
    if (line.sign === "-") pairs.push([line, null]);
    else if (line.sign === " ") open = pairs.push([line, line]);
    else if (open < pairs.length) pairs[open++]![1] = line;
    else open = pairs.push([null, line]);
  }
  return pairs;
}

function same(text: string, before: number, after: number): DiffLine {
  return { sign: " ", text, before, after };
}

function middle(old: readonly string[], now: readonly string[], offset: number): DiffLine[] {
  const lengths = old.length * now.length <= MAX_CELLS ? table(old, now) : null;
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (lengths !== null && i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(same(old[i]!, offset + ++i, offset + ++j));
    } else if (i < old.length && (j >= now.length || lengths === null || lengths[i + 1]![j]! >= lengths[i]![j + 1]!)) {
      lines.push({ sign: "-", text: old[i]!, before: offset + ++i, after: null });
    } else {
      lines.push({ sign: "+", text: now[j]!, before: null, after: offset + ++j });
    }
  }
  return lines;
}

/** Cell [i][j]: how many lines the texts from line i and from line j on have in common. */
function table(old: readonly string[], now: readonly string[]): Uint32Array[] {
  const cells = Array.from({ length: old.length + 1 }, () => new Uint32Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      cells[i]![j] = old[i] === now[j] ? cells[i + 1]![j + 1]! + 1 : Math.max(cells[i + 1]![j]!, cells[i]![j + 1]!);
    }
  }
  return cells;
}
