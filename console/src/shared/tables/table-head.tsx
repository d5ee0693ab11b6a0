interface Column {
  name: string;
  /** Of numbers, which are aligned right. */
  num?: boolean;
  title?: string;
}

/** The head of a table; a string names a column of text. */
export function TableHead({ columns }: { columns: readonly (string | Column)[] }) {
  return (
    <thead>
      <tr>
        {columns.map((column, index) => {
          const { name, num = false, title }: Column = typeof column === "string" ? { name: column } : column;
          return (
            <th key={index} className={num ? "num" : undefined} title={title}>
              {name}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
