export type SortValue = string | number | null | undefined;

export interface Sort {
  name: string;
  down: boolean;
}

const words = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** Sort by a value of each row. What has none comes last in both directions; rows of one value keep their order. */
export function sorted<T>(rows: readonly T[], by: (row: T) => SortValue, down: boolean): T[] {
  const values = new Map(rows.map((row) => [row, by(row)]));
  return [...rows].sort((one, other) => {
    const [left, right] = [values.get(one), values.get(other)];
    if (isNone(left) || isNone(right)) return Number(isNone(left)) - Number(isNone(right));
    const order = typeof left === "number" && typeof right === "number" ? left - right : words.compare(String(left), String(right));
    return down ? -order : order;
  });
}

function isNone(value: SortValue): value is null | undefined {
  return value === null || value === undefined || value === "" || Number.isNaN(value);
}

/** Return the sort after a click on a column: numbers begin with the largest, a second click turns it, a third ends it. */
export function nextSort(now: Sort | null, name: string, num: boolean): Sort | null {
  if (now?.name !== name) return { name, down: num };
  return now.down === num ? { name, down: !num } : null;
}

/** A sort as the address has it: `Jobs`, or `-Jobs` with the largest first. */
export function sortOf(text: string | undefined): Sort | null {
  if (!text) return null;
  return text.startsWith("-") ? { name: text.slice(1), down: true } : { name: text, down: false };
}

export function textOf(sort: Sort | null): string | null {
  return sort === null ? null : `${sort.down ? "-" : ""}${sort.name}`;
}

/** `aria-sort` of a column. */
export function ariaSort(sort: Sort | null, name: string): "ascending" | "descending" | undefined {
  if (sort?.name !== name) return undefined;
  return sort.down ? "descending" : "ascending";
}
