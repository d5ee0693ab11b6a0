import type { Iteration } from "../api/types";
import { tableDiff, type Side, type TableDiff } from "../shared/tables/table-diff";

/** The first rows of a table, and how many it has. */
export interface Rows extends Side {
  total: number;
}

/** A table as what it changed of another. */
export interface Compared extends TableDiff {
  /** Of what the table differs: "attempt 1", or the name of a data set. */
  from: string;
  /** Rows belong to each other by a key or by their place; without either only the columns are compared. */
  by: "key" | "place" | null;
}

export function rowsOf(table: NonNullable<Iteration["table"]>): Rows {
  return { columns: table.columns, rows: table.rows as unknown[][], total: table.row_count };
}

/** The table of an attempt against that of the last attempt before it that came to one, else against the input; null where there is neither. */
export function comparedAttempt(attempts: readonly Iteration[], index: number, input: (Rows & { name: string }) | null): Compared | null {
  const table = attempts[index]?.table;
  if (!table) return null;
  const before = attempts.slice(0, index).findLast((attempt) => attempt.table);
  if (before?.table) return compared(rowsOf(before.table), rowsOf(table), `attempt ${before.number}`);
  return input === null ? null : compared(input, rowsOf(table), input.name);
}

/** What cannot be known of tables whose first rows alone are there is not said: a row below the cut is neither new nor gone. */
export function compared(before: Rows, after: Rows, from: string): Compared {
  const diff = tableDiff(before, after);
  const by = diff.key !== null ? "key" : before.total === after.total ? "place" : null;
  if (by === null || isAnotherTable(diff)) return { ...columnsOnly(diff, after), from, by: null };
  const isWhole = (side: Rows): boolean => side.total <= side.rows.length;
  const rows = diff.rows
    .filter((row) => row.state !== "dropped" || isWhole(after))
    .map((row) => (row.state === "new" && !isWhole(before) ? { ...row, state: "" as const } : row));
  const number = (state: string): number => rows.filter((row) => row.state === state).length;
  return { ...diff, rows, added: number("new"), dropped: number("dropped"), from, by };
}

/** Whether hardly a row is in both tables: those of an aggregation are others, and a difference by rows says nothing. */
function isAnotherTable({ key, rows }: TableDiff): boolean {
  return key !== null && rows.length > 4 && rows.filter(({ state }) => state === "").length < rows.length / 10;
}

function columnsOnly(diff: TableDiff, after: Rows): TableDiff {
  const place = (name: string): number => after.columns.findIndex((column) => column.name === name);
  const rows = after.rows.map((row) => ({ state: "" as const, cells: diff.columns.map((column) => ({ after: row[place(column.name)], changed: false })) }));
  return { columns: diff.columns, rows, key: null, changed: 0, added: 0, dropped: 0 };
}
