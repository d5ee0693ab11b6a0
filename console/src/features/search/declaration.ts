/** How a column of a table is used: scored by, or of which type a filter compares it. */
export const USES = ["facet", "keyword", "text", "integer", "float", "bool", "datetime"] as const;
export type Use = (typeof USES)[number];

export interface ColumnDraft {
  name: string;
  use: Use;
}

export interface TableDraft {
  name: string;
  columns: readonly ColumnDraft[];
}

/** The tables as the API takes them; columns without a name are left out. */
export function declarationOf(tables: readonly TableDraft[]): Record<string, { facets: Record<string, number>; fields: Record<string, string> }> {
  return Object.fromEntries(
    tables.map(({ name, columns }) => {
      const named = columns.filter((column) => column.name.trim() !== "").map((column) => ({ ...column, name: column.name.trim() }));
      const facets = named.filter(({ use }) => use === "facet").map((column) => [column.name, 1] as const);
      const fields = named.filter(({ use }) => use !== "facet").map((column) => [column.name, column.use] as const);
      return [name.trim(), { facets: Object.fromEntries(facets), fields: Object.fromEntries(fields) }];
    }),
  );
}
