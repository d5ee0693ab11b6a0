import type { Rect } from "./elements";

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

  touches(box: Rect): boolean {
    return cellsOf(box).some((key) => this.cells.get(key)?.some((each) => each.x < box.x + box.width && box.x < each.x + each.width && each.y < box.y + box.height && box.y < each.y + each.height) === true);
  }
}

const MOST = 400; // cells of one box: a larger one is a mistake

function cellsOf({ x, y, width, height }: Rect): string[] {
  const keys: string[] = [];
  for (let column = Math.floor(x / CELL); column <= (x + width) / CELL; column += 1) {
    for (let row = Math.floor(y / CELL); row <= (y + height) / CELL && keys.length < MOST; row += 1) keys.push(`${column} ${row}`);
  }
  return keys;
}
