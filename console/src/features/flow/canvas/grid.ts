import type { Point, Rect } from "../../../shared/flows/elements";

const CELL = 256;

/** Boxes by where they are: so that of thousands only the near ones are compared. */
export class Grid {
  private readonly cells = new Map<string, Rect[]>();

  constructor(boxes: readonly Rect[]) {
    for (const box of boxes) this.add(box);
  }

  add(box: Rect): void {
    for (const key of cellsOf(box)) {
      const known = this.cells.get(key);
      if (known === undefined) this.cells.set(key, [box]);
      else known.push(box);
    }
  }

  touches(box: Rect, except: readonly Rect[] = []): boolean {
    return cellsOf(box).some((key) => this.cells.get(key)?.some((each) => overlap(each, box) && !except.includes(each)) === true);
  }

  /** How much of a box is covered, in square pixels. */
  covers(box: Rect): number {
    const near = new Set(cellsOf(box).flatMap((key) => this.cells.get(key) ?? []));
    return [...near].reduce((sum, each) => sum + shared(each.x, each.width, box.x, box.width) * shared(each.y, each.height, box.y, box.height), 0);
  }

  /** Whether a point is on a box other than those. */
  holds({ x, y }: Point, except: readonly Rect[]): boolean {
    const near = this.cells.get(`${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`);
    return near?.some((each) => x > each.x && x < each.x + each.width && y > each.y && y < each.y + each.height && !except.includes(each)) === true;
  }

  /** How far the boxes that a strip touches reach to a side; null when it touches none. */
  outermost(strip: Rect, outward: number, upright: boolean): number | null {
    let reach: number | null = null;
    for (const key of cellsOf(strip)) {
      for (const each of this.cells.get(key) ?? []) {
        if (!overlap(each, strip)) continue;
        const side = upright ? each.x + (outward > 0 ? each.width : 0) : each.y + (outward > 0 ? each.height : 0);
        reach = reach === null ? side : outward > 0 ? Math.max(reach, side) : Math.min(reach, side);
      }
    }
    return reach;
  }
}

function shared(a: number, length: number, b: number, other: number): number {
  return Math.max(0, Math.min(a + length, b + other) - Math.max(a, b));
}

function overlap(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

const MOST = 400; // cells of one box: a larger one is a mistake

function cellsOf({ x, y, width, height }: Rect): string[] {
  const keys: string[] = [];
  for (let column = Math.floor(x / CELL); column <= (x + width) / CELL; column += 1) {
    for (let row = Math.floor(y / CELL); row <= (y + height) / CELL && keys.length < MOST; row += 1) keys.push(`${column} ${row}`);
  }
  return keys;
}
