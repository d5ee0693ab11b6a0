import type { Bar } from "./lanes";

export const LANE = 24;
const INSET = 5;
/** A bar is never too thin to see. */
const LEAST = 3;

/** Position of seconds, in pixels, of a width. */
export interface Place {
  x: (seconds: number) => number;
  width: number;
}

function boxOf(bar: Bar, { x, width }: Place): { left: number; width: number } {
  const left = Math.min(x(bar.from), width - LEAST);
  return { left, width: Math.max(LEAST, x(bar.to) - x(bar.from)) };
}

/** All bars that look alike as one path: a thousand elements of their own take longer to draw than a frame lasts. */
export function pathsOf(bars: readonly Bar[], place: Place): { bar: Bar; path: string }[] {
  const kinds = new Map<string, { bar: Bar; parts: string[] }>();
  for (const bar of bars) {
    const key = `${bar.tone} ${bar.provider}`;
    const kind = kinds.get(key) ?? { bar, parts: [] };
    kinds.set(key, kind);
    const box = boxOf(bar, place);
    const wide = box.width.toFixed(1);
    kind.parts.push(`M${box.left.toFixed(1)} ${bar.lane * LANE + INSET}h${wide}v${LANE - 2 * INSET}h-${wide}z`);
  }
  return [...kinds.values()].map(({ bar, parts }) => ({ bar, path: parts.join("") }));
}

/** The bar under the pointer; of those that touch, the last one. */
export function barAt(bars: readonly Bar[], place: Place, left: number, top: number): Bar | undefined {
  const lane = Math.floor(top / LANE);
  return bars.findLast((bar) => {
    const box = boxOf(bar, place);
    return bar.lane === lane && left >= box.left && left <= box.left + box.width;
  });
}
