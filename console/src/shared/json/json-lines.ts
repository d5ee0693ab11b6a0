/** A line of a value as a tree: `open` is null when it holds nothing to show. */
export interface Line {
  path: string;
  depth: number;
  text: string;
  open: boolean | null;
}

/** Which lines are to be shown: what is closed, what is searched for, and the part in sight. */
export interface Ask {
  closed: ReadonlySet<string>;
  wanted: string;
  from: number;
  count: number;
}

export interface Part {
  from: number;
  lines: readonly Line[];
  total: number;
}

/** Larger ones are worked on off the main thread, and of those above the second only the head is shown. */
export const SMALL = 50_000;
export const LARGEST = 2_000_000;

const LONGEST = 20_000; // characters of one line

/** About how many characters it has as JSON; counting ends once there are more than the most. */
export function sizeOf(root: unknown, most: number): number {
  let size = 0;
  const pending: unknown[] = [root];
  while (pending.length > 0 && size <= most) {
    const value = pending.pop();
    if (typeof value === "string") size += value.length + 3;
    else if (value === null || typeof value !== "object") size += 6;
    else if (Array.isArray(value)) {
      size += value.length;
      if (size <= most) for (const inner of value) pending.push(inner);
    } else {
      for (const [key, inner] of Object.entries(value)) {
        size += key.length + 4;
        pending.push(inner);
      }
    }
  }
  return size;
}

/** The lines of a value, the first ones when there are more than the most; iterative, as a value may be deep. */
export function linesOf(root: unknown, closed: ReadonlySet<string>, most = Infinity): Line[] {
  const lines: Line[] = [];
  const pending: { name: string; path: string; depth: number; value: unknown }[] = [{ name: "", path: "$", depth: 0, value: root }];
  while (pending.length > 0 && lines.length < most) {
    const { name, path, depth, value } = pending.pop()!;
    const label = name === "" ? "" : `${name}: `;
    if (value === null || typeof value !== "object") {
      lines.push({ path, depth, text: `${label}${clipped(value)}`, open: null });
      continue;
    }
    const left = most - lines.length;
    // Not the names of all that a long list holds.
    const keys = Array.isArray(value) ? Array.from({ length: Math.min(value.length, left) }, (_, index) => String(index)) : Object.keys(value);
    const open = !closed.has(path);
    lines.push({ path, depth, text: `${label}${Array.isArray(value) ? `[${value.length}]` : `{${keys.length}}`}`, open: keys.length === 0 ? null : open });
    if (!open) continue;
    for (const key of keys.slice(0, left).reverse()) pending.push({ name: key, path: `${path}\u0000${key}`, depth: depth + 1, value: (value as Record<string, unknown>)[key] });
  }
  return lines;
}

function clipped(value: unknown): string {
  if (typeof value !== "string" || value.length <= LONGEST) return JSON.stringify(value) ?? "null";
  return `${JSON.stringify(value.slice(0, LONGEST))}… ${value.length - LONGEST} more characters`;
}

/** A value whose lines are requested part by part; they are rebuilt only when something is opened or closed. */
export class Tree {
  private lines: readonly Line[] = [];
  private found: readonly Line[] = [];
  private made = "";
  private searched = "";

  constructor(private readonly value: unknown) {}

  part({ closed, wanted, from, count }: Ask): Part {
    const of = [...closed].join("\n");
    if (this.lines.length === 0 || of !== this.made) {
      this.lines = linesOf(this.value, closed);
      this.found = this.lines;
      [this.made, this.searched] = [of, ""];
    }
    if (wanted !== this.searched) {
      const sought = wanted.toLowerCase();
      this.found = sought === "" ? this.lines : this.lines.filter((line) => line.text.toLowerCase().includes(sought));
      this.searched = wanted;
    }
    return { from, lines: this.found.slice(from, from + count), total: this.found.length };
  }
}
