import { useState } from "react";
import { visible } from "../code/ansi";
import { cell } from "../values/numbers";
import { ColumnHead } from "./column-head";
import { scrollEnd } from "./scroll-end";
import { ariaSort, nextSort, sorted, type Sort, type SortValue } from "./sorting";

const NUMERIC = new Set(["int", "float", "decimal"]);
const MAX_CHARACTERS = 500;

/** Return the class of a column's cells: numbers are aligned right, in every table. */
export function alignment(type: string | undefined): string {
  return NUMERIC.has(type ?? "") ? "num" : "";
}

export type CellMark = (row: number, column: number) => "new" | "changed" | "dropped" | "";

interface Props {
  columns: readonly { name: string; type?: string }[];
  rows: readonly (readonly unknown[])[];
  total?: number;
  mark?: CellMark;
  label: string;
  /** Title of a column, by its name. */
  hints?: ReadonlyMap<string, string>;
}

/** A result's first rows; the whole is a file. Cells are text, cut where they are long. */
export function DataTable({ columns, rows, total, mark, label, hints }: Props) {
  const [sort, setSort] = useState<Sort | null>(null);
  const whole = total === undefined || total <= rows.length;
  const by = columns.findIndex((column) => column.name === sort?.name);
  const places = rows.map((_, place) => place);
  const shown = sort === null || by < 0 || !whole ? places : sorted(places, (place) => valueOf(rows[place]![by]), sort.down);
  return (
    <div className="tight">
      <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label={label}>
        <table className="grid-table mono">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.name} scope="col" className={alignment(column.type)} title={hints?.get(column.name) ?? column.type} aria-sort={ariaSort(sort, column.name)}>
                  <ColumnHead name={visible(column.name)} sort={sort} onSort={whole && rows.length > 1 ? () => setSort(nextSort(sort, column.name, alignment(column.type) === "num")) : undefined} />
                  {column.type === undefined ? null : <span className="muted"> {column.type}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((index) => (
              <tr key={index}>
                {rows[index]!.map((value, place) => (
                  <td key={place} className={`${alignment(columns[place]?.type)} ${mark?.(index, place) ?? ""}`} title={hints?.get(columns[place]?.name ?? "")}>
                    {value === null ? <span className="muted">null</span> : visible(cell(value).slice(0, MAX_CHARACTERS))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {whole ? null : (
        <span className="muted">
          {rows.length} of {total.toLocaleString("en")} rows
        </span>
      )}
    </div>
  );
}

function valueOf(value: unknown): SortValue {
  return typeof value === "number" || value === null || value === undefined ? value : cell(value);
}
