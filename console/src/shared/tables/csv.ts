export interface Head {
  columns: string[];
  rows: string[][];
}

/** The head of a CSV or TSV text: names and the first rows, with quoted cells read as RFC 4180 says. */
export function headOf(text: string, most = 5): Head | null {
  const separator = (text.split("\n", 1)[0] ?? "").includes("\t") ? "\t" : ",";
  const table: string[][] = [[]];
  let cell = "";
  let quoted = false;
  for (let place = 0; place < text.length && table.length <= most + 1; place += 1) {
    const sign = text[place]!;
    if (quoted) {
      if (sign === '"' && text[place + 1] === '"') cell += text[++place]!;
      else if (sign === '"') quoted = false;
      else cell += sign;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === separator || sign === "\n") {
      table.at(-1)!.push(cell.replace(/\r$/, ""));
      cell = "";
      if (sign === "\n") table.push([]);
    } else cell += sign;
  }
  if (cell !== "") table.at(-1)!.push(cell);
  const [columns, ...rows] = table;
  if (columns === undefined || columns.length < 2 || columns.some((name) => name.length > 500)) return null;
  return { columns, rows: rows.filter((row) => row.length === columns.length).slice(0, most) };
}

/** A cell of an export that a spreadsheet cannot take for a formula. */
export function safeCell(value: string): string {
  const text = isFormula(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A whole CSV text (RFC 4180) with such cells only; all others stay as they are written. */
export function safeText(csv: string): string {
  return csv.replace(CELL, (whole, cell: string, end: string) => {
    const value = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
    return isFormula(value) ? safeCell(value) + end : whole;
  });
}

const CELL = /("(?:[^"]+|"")*"|[^",\r\n][^,\r\n]*)(,|\r?\n|$)/g;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-inf(inity)?$/i;

function isFormula(value: string): boolean {
  return /^[=+\-@\t\r]/.test(value) && !NUMBER.test(value);
}
