import { Skeleton } from "@mantine/core";
import { useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { Failed } from "../page/loading-states";
import { useUrl } from "../page/url";
import { scrollEnd } from "./scroll-end";
import { ColumnHead } from "./column-head";
import { ariaSort, nextSort, sorted, sortOf, textOf, type SortValue } from "./sorting";

export interface TableColumn<T> {
  name: string;
  /** Of numbers and times, which are aligned right and begin with the largest. */
  num?: boolean;
  title?: string;
  /** What rows are sorted by when one clicks the name; absent of a column that has no order. */
  by?: (row: T) => SortValue;
}

interface Props<T> {
  /** Names the sort in the address and the widths that this browser keeps. */
  id: string;
  label: string;
  /** A string names a column without an order. */
  columns: readonly (string | TableColumn<T>)[];
  /** Undefined while they are fetched. */
  items: readonly T[] | undefined;
  /** One `tr`, or several for a row that is opened. */
  row: (item: T, place: number) => ReactNode;
  error?: unknown;
  retry?: () => void;
  /** What the body says without items. */
  empty?: ReactNode;
  /** Classes of the table, and of the part that scrolls. */
  look?: string;
  frame?: string;
  height?: "none";
}

/** The one table: names that sort, widths that are dragged, a head that stays, numbers at the right. */
export function SortedTable<T>({ id, label, columns, items, row, error, retry, empty, look = "wide", frame = "", height }: Props<T>) {
  const [url, change] = useUrl();
  const all = columns.map((column): TableColumn<T> => (typeof column === "string" ? { name: column } : column));
  const sort = sortOf(url[`sort-${id}`]);
  const by = all.find((column) => column.name === sort?.name)?.by;
  const shown = items === undefined || sort === null || by === undefined ? items : sorted(items, by, sort.down);
  const table = useRef<HTMLTableElement>(null);
  const [widths, setWidths] = useWidths(id, all.length);
  const resize = (place: number, width: number | null): void => {
    if (width === null) return setWidths(null);
    const heads = [...(table.current?.tHead?.rows[0]?.cells ?? [])].map((head) => head.offsetWidth);
    setWidths((widths ?? heads).map((before, index) => (index === place ? width : before)));
  };
  const body = useRef<HTMLTableSectionElement>(null);
  // On a phone a row is a card, in which each cell says its column.
  useLayoutEffect(() => {
    for (const each of body.current?.rows ?? []) {
      if (each.cells.length === all.length) [...each.cells].forEach((cell, place) => (cell.dataset.column = all[place]!.name));
    }
  });
  const whole = (words: ReactNode): ReactNode => (
    <tr className="whole">
      <td colSpan={all.length}>{words}</td>
    </tr>
  );
  return (
    <div ref={scrollEnd} className={`scroll ${frame}`} style={{ maxHeight: height }} tabIndex={0} role="region" aria-label={label} aria-busy={items === undefined && !error ? true : undefined}>
      <table ref={table} className={`grid-table cards ${look}`} style={widths === null ? undefined : { tableLayout: "fixed", width: widths.reduce((sum, width) => sum + width, 0) }}>
        {widths === null ? null : (
          <colgroup>
            {widths.map((width, place) => (
              <col key={place} style={{ width }} />
            ))}
          </colgroup>
        )}
        <thead>
          <tr>
            {all.map((column, place) => (
              <th key={place} scope="col" className={column.num ? "num" : undefined} title={column.title} aria-sort={ariaSort(by === undefined ? null : sort, column.name)}>
                <ColumnHead
                  name={column.name}
                  sort={sort}
                  onSort={column.by === undefined ? undefined : () => change({ [`sort-${id}`]: textOf(nextSort(sort, column.name, column.num ?? false)) })}
                  onWidth={column.name === "" ? undefined : (width) => resize(place, width)}
                />
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {error && items === undefined
            ? whole(<Failed error={error} retry={retry} />)
            : shown === undefined
              ? Array.from({ length: 5 }, (_, place) => <tr key={place}>{all.map((column) => <td key={column.name}>{column.name === "" ? null : <Skeleton height={12} />}</td>)}</tr>)
              : shown.length === 0 && empty !== undefined
                ? whole(empty)
                : shown.map(row)}
        </tbody>
      </table>
    </div>
  );
}

/** The widths of a table's columns as this browser keeps them; null while the table decides. */
function useWidths(id: string, columns: number): [readonly number[] | null, (widths: readonly number[] | null) => void] {
  const place = `assay.table.${id}`;
  const [kept, setKept] = useState<readonly number[] | null>(() => widthsOf(localStorage.getItem(place)));
  const keep = (widths: readonly number[] | null): void => {
    if (widths === null) localStorage.removeItem(place);
    else localStorage.setItem(place, JSON.stringify(widths));
    setKept(widths);
  };
  return [kept?.length === columns ? kept : null, keep];
}

export function widthsOf(text: string | null): number[] | null {
  try {
    const read: unknown = JSON.parse(text ?? "null");
    return Array.isArray(read) && read.every((width) => typeof width === "number" && width > 0) ? (read as number[]) : null;
  } catch {
    return null;
  }
}
