import { visible } from "../code/ansi";
import { cell } from "../values/numbers";

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
  return (
    <div className="tight">
      <div className="scroll" tabIndex={0} role="region" aria-label={label}>
        <table className="grid-table mono">
          <thead>
            <tr>
              {columns.map((column) => (
                <th key={column.name} scope="col" className={alignment(column.type)} title={hints?.get(column.name) ?? column.type}>
                  {visible(column.name)}
                  {column.type === undefined ? null : <span className="muted"> {column.type}</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, index) => (
              <tr key={index}>
                {row.map((value, place) => (
                  <td key={place} className={`${alignment(columns[place]?.type)} ${mark?.(index, place) ?? ""}`} title={hints?.get(columns[place]?.name ?? "")}>
                    {value === null ? <span className="muted">null</span> : visible(cell(value).slice(0, MAX_CHARACTERS))}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {total === undefined || total <= rows.length ? null : (
        <span className="muted">
          {rows.length} of {total.toLocaleString("en")} rows
        </span>
      )}
    </div>
  );
}
