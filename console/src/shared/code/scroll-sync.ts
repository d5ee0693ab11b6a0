/** A view of a text that scrolls, in lines of its source (from 1; 4.5 is the middle of the fourth). */
export interface Scrolls {
  top: () => number;
  setTop: (line: number) => void;
  /** `scrolled` is called whenever it was scrolled, until the answer is called. */
  onScroll: (scrolled: () => void) => () => void;
}

/** A line of the source, and its position in the other view, in pixels. */
export type Pair = readonly [line: number, y: number];

const QUIET_MS = 200;

/**
 * Two views of one text: the one that the user scrolls takes the other one along. Ends with the answer.
 *
 * One may be there before the other and be scrolled by then: the one that is still at its beginning follows it.
 */
export function together(one: Scrolls, other: Scrolls): () => void {
  let led: Scrolls | null = null; // was moved by us: its event is not from the user
  let until = 0;
  const follow = (mover: Scrolls, follower: Scrolls) => (): void => {
    const now = performance.now();
    if (mover === led && now < until) return;
    led = follower;
    until = now + QUIET_MS;
    follower.setTop(mover.top());
  };
  const ends = [one.onScroll(follow(one, other)), other.onScroll(follow(other, one))];
  const [here, there] = [one.top() > 1, other.top() > 1];
  if (here && !there) follow(one, other)();
  if (there && !here) follow(other, one)();
  return () => ends.forEach((end) => end());
}

/** Only pairs that rise in both: a block whose output is moved elsewhere says nothing about the lines around it. */
export function rising(pairs: readonly Pair[]): Pair[] {
  const kept: Pair[] = [];
  for (const pair of [...pairs].sort((a, b) => a[0] - b[0])) {
    const last = kept[kept.length - 1];
    if (last === undefined || (pair[0] > last[0] && pair[1] > last[1])) kept.push(pair);
  }
  return kept;
}

/** Between two known places it is as far as in the other view. */
export function between(pairs: readonly Pair[], value: number, of: 0 | 1): number {
  const to = of === 0 ? 1 : 0;
  const next = pairs.findIndex((pair) => pair[of] > value);
  if (next === 0) return pairs[0]?.[to] ?? 0;
  const [before, after] = next < 0 ? [pairs[pairs.length - 1], undefined] : [pairs[next - 1], pairs[next]];
  if (before === undefined || after === undefined) return before?.[to] ?? 0;
  return before[to] + ((value - before[of]) / (after[of] - before[of])) * (after[to] - before[to]);
}
