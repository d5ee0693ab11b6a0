import type { Iteration } from "../api/types";
import { visible } from "../shared/code/ansi";
import { count } from "../shared/values/numbers";
import { DataTable } from "../shared/tables/table";
import { comparedAttempt, type Compared, type Rows } from "./attempt-diff";
import { MarkedTable } from "./marked-table";

/** What an attempt came to, marked by what it changed of the attempt before, or of the input. */
export function AttemptTable({ attempts, index, input }: { attempts: readonly Iteration[]; index: number; input: (Rows & { name: string }) | null }) {
  const { table, number } = attempts[index]!;
  if (!table) return null;
  const diff = comparedAttempt(attempts, index, input);
  const label = `What attempt ${number} came to`;
  if (diff === null) return <DataTable label={label} columns={table.columns} rows={table.rows as unknown[][]} total={table.row_count} />;
  return (
    <div className="tight">
      <span>
        {told(diff)} <span className="muted">{how(diff)}</span>
      </span>
      <MarkedTable label={label} diff={diff} />
      {table.row_count > table.rows.length ? (
        <span className="muted">
          {count(table.rows.length)} of {count(table.row_count)} rows
        </span>
      ) : null}
    </div>
  );
}

function told(diff: Compared): string {
  const columns = (["new", "dropped"] as const).map((state) => diff.columns.filter((column) => column.state === state).length);
  const parts = [
    ["~", diff.changed, "cell", "changed"],
    ["+", diff.added, "row", "added"],
    ["-", diff.dropped, "row", "removed"],
    ["+", columns[0]!, "column", "added"],
    ["-", columns[1]!, "column", "removed"],
  ] as const;
  const some = parts.filter(([, number]) => number > 0).map(([sign, number, noun, what]) => `${sign} ${count(number)} ${noun}${number === 1 ? "" : "s"} ${what}`);
  return some.length === 0 ? "No change." : `${some.join(", ")}.`;
}

function how({ from, by, key }: Compared): string {
  const against = `Compared with ${visible(from)}`;
  return by === null ? `${against} by column only (no common key)` : `${against}, rows by ${by === "key" ? visible(key!) : "position"}`;
}
