import { Button, Popover } from "@mantine/core";
import { Columns3 } from "lucide-react";
import { useState } from "react";
import { MAX_WIDTH, MIN_WIDTH } from "../../shared/tables/column-head";
import { Icon } from "../../shared/values/icon";

export const COLUMNS = [
  { name: "State", width: "124px" },
  { name: "Task", width: "minmax(140px, 1fr)" },
  { name: "Type", width: "76px" },
  { name: "Model", width: "minmax(0, 170px)" },
  { name: "Attempts", width: "60px" },
  { name: "Duration", width: "96px" },
  { name: "Cost", width: "76px" },
  { name: "Created", width: "88px" },
] as const;

export type Column = (typeof COLUMNS)[number]["name"];

/** Hidden columns, and how wide the others are, in pixels; of no width the list decides. */
export interface Kept {
  hidden: readonly Column[];
  widths: Readonly<Partial<Record<Column, number>>>;
}

const PLACE = "assay.jobs.columns.2";
const NEVER_HIDDEN: ReadonlySet<Column> = new Set(["State", "Task"]);

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
  return typeof value === "number" && value >= MIN_WIDTH && value <= MAX_WIDTH;
}

export function shownOf(kept: Kept): Column[] {
  return COLUMNS.map(({ name }) => name).filter((name) => !kept.hidden.includes(name));
}

/** As a grid's columns, between the one that chooses rows and the one of the menu. */
export function gridOf(kept: Kept): string {
  const widths = COLUMNS.filter(({ name }) => !kept.hidden.includes(name)).map(({ name, width }) => (kept.widths[name] === undefined ? width : `${kept.widths[name]}px`));
  return ["24px", ...widths, "24px"].join(" ");
}

export function useColumns(): [Kept, (kept: Kept) => void] {
  const [kept, setKept] = useState(() => keptOf(localStorage.getItem(PLACE)));
  const keep = (next: Kept): void => {
    localStorage.setItem(PLACE, JSON.stringify(next));
    setKept(next);
  };
  return [kept, keep];
}

/** The columns with another width of one, or the one that the list decides. */
export function sized(kept: Kept, name: Column, width: number | null): Kept {
  const { [name]: _, ...others } = kept.widths;
  return { ...kept, widths: width !== null && isWidth(width) ? { ...others, [name]: width } : others };
}

/** Chooses and sizes the columns; this browser keeps it. */
export function ColumnChoice({ kept, keep }: { kept: Kept; keep: (kept: Kept) => void }) {
  const show = (name: Column, shown: boolean): void => keep({ ...kept, hidden: shown ? kept.hidden.filter((each) => each !== name) : [...kept.hidden, name] });
  const size = (name: Column, text: string): void => keep(sized(kept, name, text === "" ? null : Number(text)));
  return (
    <Popover position="bottom-end">
      <Popover.Target>
        <Button variant="default" leftSection={<Icon of={Columns3} />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
      <fieldset className="tight">
        <legend className="unseen">Columns, and their widths in pixels</legend>
        {COLUMNS.map(({ name }) => (
          <div key={name} className="bar">
            <label className="bar" style={{ minWidth: 90, minHeight: 24 }}>
              <input type="checkbox" checked={!kept.hidden.includes(name)} disabled={NEVER_HIDDEN.has(name)} onChange={(event) => show(name, event.currentTarget.checked)} />
              {name}
            </label>
            <input className="plain-input" type="number" aria-label={`Width of ${name}`} min={MIN_WIDTH} max={MAX_WIDTH} placeholder="auto" defaultValue={kept.widths[name] ?? ""} onChange={(event) => size(name, event.currentTarget.value)} />
          </div>
        ))}
      </fieldset>
      </Popover.Dropdown>
    </Popover>
  );
}
