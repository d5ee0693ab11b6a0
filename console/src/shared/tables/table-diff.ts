export interface Side {
  columns: readonly { name: string; type?: string }[];
  rows: readonly (readonly unknown[])[];
}

export type RowState = "" | "new" | "dropped";

export interface TableDiff {
  columns: { name: string; type?: string; state: RowState }[];
  /** Each with the values before and after; absent on a side where row or column is absent. */
  rows: { state: RowState; cells: { before?: unknown; after?: unknown; changed: boolean }[] }[];
  key: string | null;
  changed: number;
  added: number;
  dropped: number;
}

/** Two tables cell by cell. Rows belong together by the first column whose values are unique in both, else by their place. */
export function tableDiff(before: Side, after: Side): TableDiff {
  const columns = joined(before, after);
  const key = keyOf(before, after);
  const pairs = pairsOf(before, after, key);
  let changed = 0;
  const rows = pairs.map(([old, now]) => {
    const state: RowState = old === undefined ? "new" : now === undefined ? "dropped" : "";
    const cells = columns.map((column) => {
      const [was, is] = [valueOf(before, old, column.name), valueOf(after, now, column.name)];
      const differs = state === "" && column.state === "" && !same(was, is);
      if (differs) changed += 1;
      return { before: was, after: is, changed: differs };
    });
    return { state, cells };
  });
  const number = (state: RowState): number => rows.filter((row) => row.state === state).length;
  return { columns, rows, key, changed, added: number("new"), dropped: number("dropped") };
}

function joined(before: Side, after: Side): TableDiff["columns"] {
  const old = new Set(before.columns.map((column) => column.name));
  const now = new Set(after.columns.map((column) => column.name));
  return [
    ...after.columns.map((column) => ({ ...column, state: (old.has(column.name) ? "" : "new") as RowState })),
    ...before.columns.filter((column) => !now.has(column.name)).map((column) => ({ ...column, state: "dropped" as RowState })),
  ];
}

function keyOf(before: Side, after: Side): string | null {
  const isKey = (side: Side, name: string): boolean => {
    const values = side.rows.map((row) => valueOf(side, row, name));
    return values.every((value) => value !== null && value !== undefined) && new Set(values.map(text)).size === values.length;
  };
  const names = after.columns.map((column) => column.name).filter((name) => before.columns.some((column) => column.name === name));
  return names.find((name) => isKey(before, name) && isKey(after, name)) ?? null;
}

type Row = readonly unknown[] | undefined;

function pairsOf(before: Side, after: Side, key: string | null): [Row, Row][] {
  if (key === null) {
    return Array.from({ length: Math.max(before.rows.length, after.rows.length) }, (_, place) => [before.rows[place], after.rows[place]]);
  }
  const byKey = new Map(before.rows.map((row) => [text(valueOf(before, row, key)), row]));
  const pairs: [Row, Row][] = after.rows.map((row) => {
    const name = text(valueOf(after, row, key));
    const old = byKey.get(name);
    byKey.delete(name);
    return [old, row];
  });
  return [...pairs, ...[...byKey.values()].map((row): [Row, Row] => [row, undefined])];
}

function valueOf(side: Side, row: Row, name: string): unknown {
  return row?.[side.columns.findIndex((column) => column.name === name)];
}

/** Equal but for what adding numbers in another order does. */
function same(one: unknown, other: unknown): boolean {
  if (typeof one === "number" && typeof other === "number") return Math.abs(one - other) <= 1e-9 * Math.max(1, Math.abs(one), Math.abs(other));
  return text(one) === text(other);
}

function text(value: unknown): string {
  return JSON.stringify(value ?? null);
}
