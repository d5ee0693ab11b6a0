export interface Range {
  start: number;
  end: number;
}

export interface Segment {
  text: string;
  /** A word of the question. */
  marked: boolean;
  /** Within what the answer cites. */
  cited: boolean;
}

/** A passage in the parts that are shown alike. Offsets count characters, of which some are two units of a JavaScript string. */
export function segmentsOf(text: string, marks: readonly Range[], cited: readonly Range[]): Segment[] {
  const signs = Array.from(text);
  const within = (ranges: readonly Range[], at: number) => ranges.some(({ start, end }) => start <= at && at < end);
  const cuts = [...marks, ...cited].flatMap(({ start, end }) => [start, end]).filter((cut) => cut > 0 && cut < signs.length);
  const bounds = [0, ...[...new Set(cuts)].sort((first, second) => first - second), signs.length];
  return bounds.slice(0, -1).map((start, index) => ({
    text: signs.slice(start, bounds[index + 1]).join(""),
    marked: within(marks, start),
    cited: within(cited, start),
  }));
}
