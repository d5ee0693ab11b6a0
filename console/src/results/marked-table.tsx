import { visible } from "../shared/code/ansi";
import { cell } from "../shared/values/numbers";
import type { RowState, TableDiff } from "../shared/tables/table-diff";
import { scrollEnd } from "../shared/tables/scroll-end";

const NUMERIC = new Set(["int", "float", "decimal"]);
const MAX_CHARACTERS = 500;
const SIGNS: Readonly<Record<RowState, string>> = { new: "+", dropped: "-", "": "" };
const WORDS: Readonly<Record<RowState, string>> = { new: "new", dropped: "gone", "": "" };

type Cell = TableDiff["rows"][number]["cells"][number];

/** Two tables in one: new + and green, changed ~ and amber next to the value before, gone - and struck. */
export function MarkedTable({ label, diff }: { label: string; diff: Pick<TableDiff, "columns" | "rows"> }) {
  return (
    <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label={label}>
      <table className="grid-table mono">
        <thead>
          <tr>
            <th scope="col">
              <span className="hidden">change</span>
            </th>
            {diff.columns.map((column) => (
              <th key={column.name} scope="col" className={`${NUMERIC.has(column.type ?? "") ? "num" : ""} ${column.state}`} title={WORDS[column.state]}>
                {SIGNS[column.state]} {visible(column.name)} <span className="muted">{column.type}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {diff.rows.map((row, index) => (
            <tr key={index}>
              <td title={WORDS[row.state]}>{SIGNS[row.state] || (row.cells.some((each) => each.changed) ? "~" : "")}</td>
              {row.cells.map((each, place) => {
                const column = diff.columns[place]!;
                const state = row.state || column.state || (each.changed ? "changed" : "");
                return (
                  <td key={place} className={`${NUMERIC.has(column.type ?? "") ? "num" : ""} ${state}`}>
                    {each.changed ? (
                      <>
                        ~ <del>{written(each.before)}</del> → <Value of={each.after} />
                      </>
                    ) : (
                      <Value of={valueOf(each, state === "dropped")} />
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function valueOf({ before, after }: Cell, isGone: boolean): unknown {
  return isGone || after === undefined ? before : after;
}

function Value({ of }: { of: unknown }) {
  if (of === undefined) return null;
  return of === null ? <span className="muted">null</span> : <>{written(of)}</>;
}

function written(value: unknown): string {
  return visible((cell(value) || "null").slice(0, MAX_CHARACTERS));
}
