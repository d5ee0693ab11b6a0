import { useState } from "react";

export const COLUMNS = [
  { name: "State", width: "100px" },
  { name: "Kind", width: "80px" },
  { name: "What", width: "minmax(140px, 1fr)" },
  { name: "Model", width: "minmax(0, 190px)" },
  { name: "Turns", width: "48px" },
  { name: "When", width: "112px" },
  { name: "Took", width: "84px" },
  { name: "Cost", width: "76px" },
] as const;

export type Column = (typeof COLUMNS)[number]["name"];

/** Which columns somebody does not want, and how wide the others are, in pixels; of no width the list decides. */
export interface Kept {
  hidden: readonly Column[];
  widths: Readonly<Partial<Record<Column, number>>>;
}

const PLACE = "assay.jobs.columns";
const NEVER_HIDDEN: ReadonlySet<Column> = new Set(["State", "What"]);
export const [LEAST, MOST] = [40, 800];

/** What the browser has kept; whatever of that is none of a column is left out. */
export function keptOf(text: string | null): Kept {
  let read: unknown;
  try {
    read = JSON.parse(text ?? "null");
  } catch {
    read = null;
  }
  const { hidden, widths } = (typeof read === "object" && read !== null ? read : {}) as { hidden?: unknown; widths?: unknown };
  const names = COLUMNS.map(({ name }) => name);
  const sizes = (typeof widths === "object" && widths !== null ? widths : {}) as Record<string, unknown>;
  return {
    hidden: names.filter((name) => !NEVER_HIDDEN.has(name) && Array.isArray(hidden) && hidden.includes(name)),
    widths: Object.fromEntries(names.flatMap((name) => (isWidth(sizes[name]) ? [[name, sizes[name]]] : []))),
  };
}

function isWidth(value: unknown): value is number {
  return typeof value === "number" && value >= LEAST && value <= MOST;
}

export function shownOf(kept: Kept): Column[] {
  return COLUMNS.map(({ name }) => name).filter((name) => !kept.hidden.includes(name));
}

/** As a grid's columns, behind the one that chooses rows. */
export function gridOf(kept: Kept): string {
  const widths = COLUMNS.filter(({ name }) => !kept.hidden.includes(name)).map(({ name, width }) => (kept.widths[name] === undefined ? width : `${kept.widths[name]}px`));
  return ["24px", ...widths].join(" ");
}

export function useColumns(): [Kept, (kept: Kept) => void] {
  const [kept, setKept] = useState(() => keptOf(localStorage.getItem(PLACE)));
  const keep = (next: Kept): void => {
    localStorage.setItem(PLACE, JSON.stringify(next));
    setKept(next);
  };
  return [kept, keep];
}

/** Chooses and sizes the columns; this browser keeps it. */
export function ColumnChoice({ kept, keep }: { kept: Kept; keep: (kept: Kept) => void }) {
  const show = (name: Column, shown: boolean): void => keep({ ...kept, hidden: shown ? kept.hidden.filter((each) => each !== name) : [...kept.hidden, name] });
  const size = (name: Column, text: string): void => {
    const { [name]: _, ...others } = kept.widths;
    keep({ ...kept, widths: isWidth(Number(text)) ? { ...others, [name]: Number(text) } : others });
  };
  return (
    <details>
      <summary>Columns</summary>
      <fieldset className="panel tight">
        <legend>Columns, and their widths in pixels</legend>
        {COLUMNS.map(({ name }) => (
          <div key={name} className="bar">
            <label className="bar" style={{ minWidth: 90, minHeight: 24 }}>
              <input type="checkbox" checked={!kept.hidden.includes(name)} disabled={NEVER_HIDDEN.has(name)} onChange={(event) => show(name, event.currentTarget.checked)} />
              {name}
            </label>
            <input className="plain-input" type="number" aria-label={`Width of ${name}`} min={LEAST} max={MOST} placeholder="by itself" defaultValue={kept.widths[name] ?? ""} onChange={(event) => size(name, event.currentTarget.value)} />
          </div>
        ))}
      </fieldset>
    </details>
  );
}
