import type { DetectResult, Job, TransformResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Diff } from "../shared/code/code";
import { count } from "../shared/values/numbers";
import { Tag } from "../shared/values/marks";
import { tableDiff, type Side } from "../shared/tables/table-diff";
import { effectText } from "./assertions";
import { detectDiff, type Line } from "./detect-diff";
import { MarkedTable } from "./marked-table";
import { TurnDifferences } from "./turn-differences";

/** What differs between two jobs: input, each turn, the result (tables cell by cell), the error. */
export function Differences({ left, right }: { left: Job; right: Job }) {
  const tables = [tableOf(left), tableOf(right)] as const;
  return (
    <>
      {left.kind === "detect" && right.kind === "detect" && left.result && right.result ? <Found lines={detectDiff(left.result as unknown as DetectResult, right.result as unknown as DetectResult)} /> : null}
      <Part title="Input" before={left.input} after={right.input} folded={left.kind !== right.kind} />
      <TurnDifferences left={left} right={right} />
      {tables[0] !== null && tables[1] !== null ? <CellDiff before={tables[0]} after={tables[1]} /> : null}
      <Part title="Changes to the data" before={effectOf(left)} after={effectOf(right)} />
      <Part title={tables[0] === null ? "Result" : "Other result fields"} before={comparable(left)} after={comparable(right)} folded={tables[0] !== null} />
      <Part title="Error" before={left.error} after={right.error} />
    </>
  );
}

const TONES = { "+": "good", "-": "bad", "~": "warn" } as const;

function Found({ lines }: { lines: readonly Line[] }) {
  return (
    <section className="panel tight" aria-label="What was found">
      <h3>
        What was found {lines.length === 0 ? <span className="muted">the same</span> : null}
      </h3>
      {lines.map(({ sign, text: words }) => (
        <span key={`${sign} ${words}`} className="bar">
          <Tag tone={TONES[sign]}>{sign}</Tag> {visible(words)}
        </span>
      ))}
    </section>
  );
}

/** Two tables in one: new green, changed amber with the value before, dropped struck. */
export function CellDiff({ before, after, title = "Table, cell by cell" }: { before: Side; after: Side; title?: string }) {
  const diff = tableDiff(before, after);
  const columns = diff.columns.filter((column) => column.state !== "");
  const isSame = diff.changed + diff.added + diff.dropped + columns.length === 0;
  return (
    <section className="panel tight" aria-label={title}>
      <h3>
        {title} {isSame ? <span className="muted">the same</span> : null}
      </h3>
      {isSame ? null : (
        <>
          <span>
            {count(diff.changed)} cells changed, {count(diff.added)} rows new, {count(diff.dropped)} rows gone
            {columns.map((column) => `, column ${visible(column.name)} ${column.state === "new" ? "new" : "gone"}`).join("")}{" "}
            <span className="muted">{diff.key === null ? "rows by their place" : `rows by ${visible(diff.key)}`}</span>
          </span>
          <MarkedTable label={title} diff={diff} />
        </>
      )}
    </section>
  );
}

function Part({ title, before, after, folded = false }: { title: string; before: unknown; after: unknown; folded?: boolean }) {
  const [one, other] = [text(before), text(after)];
  if (one === "" && other === "") return null;
  if (folded && one !== other) {
    return (
      <details className="panel">
        <summary>{title}</summary>
        <Diff before={one} after={other} />
      </details>
    );
  }
  return (
    <section className="panel">
      <h3>
        {title} {one === other ? <span className="muted">the same</span> : null}
      </h3>
      {one === other ? null : <Diff before={one} after={other} />}
    </section>
  );
}

function tableOf(job: Job): Side | null {
  const table = (job.result as TransformResult | null)?.table;
  return table === null || table === undefined ? null : { columns: table.columns, rows: table.rows as unknown[][] };
}

function effectOf(job: Job): string {
  const result = job.result as TransformResult | null;
  return tableOf(job) === null || !result?.effect ? "" : effectText(result.effect, result);
}

/** The result without what is elsewhere on the page, or is never the same twice. */
function comparable(job: Job): unknown {
  if (tableOf(job) === null) return job.result;
  const { table, iterations, effect, ...rest } = job.result as unknown as Record<string, unknown>;
  return rest;
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
