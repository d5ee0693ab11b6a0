/** The list with the element of one place at another. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  const [element] = next.splice(from, 1);
  if (element !== undefined) next.splice(Math.max(0, Math.min(to, next.length)), 0, element);
  return next;
}

/** The place in a column of boxes that the pointer is at; outside it is the nearest end. */
export function placeAt(boxes: readonly { top: number; bottom: number }[], y: number): number {
  const below = boxes.findIndex((box) => y < box.bottom);
  return below < 0 ? boxes.length - 1 : below;
}
