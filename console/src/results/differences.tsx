import type { DetectResult, Job, TransformResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { SplitDiff } from "../shared/code/code";
import { count } from "../shared/values/numbers";
import { Tag } from "../shared/values/marks";
import { tableDiff, type Side } from "../shared/tables/table-diff";
import { effectText } from "./assertions";
import { detectDiff, type Line } from "./detect-diff";
import { MarkedTable } from "./marked-table";
import { TurnDifferences } from "./turn-differences";

const NAMES = ["A", "B"] as const;

interface PartOf {
  title: string;
  before: string;
  after: string;
  folded?: boolean;
}

/** What differs between two jobs: input, each turn, the result (tables cell by cell), the error. What is the same is one line. */
export function Differences({ left, right }: { left: Job; right: Job }) {
  const tables = [tableOf(left), tableOf(right)] as const;
  const input: PartOf = { title: "Input", before: text(left.input), after: text(right.input), folded: left.kind !== right.kind };
  const rest: PartOf[] = [
    { title: "Changes to the data", before: effectOf(left), after: effectOf(right) },
    { title: tables[0] === null ? "Result" : "Other result fields", before: text(comparable(left)), after: text(comparable(right)), folded: tables[0] !== null },
    { title: "Error", before: text(left.error), after: text(right.error) },
  ];
  const same = [input, ...rest].filter(({ before, after }) => before === after && before !== "").map(({ title }) => title);
  return (
    <div className="sections">
      {same.length === 0 ? null : <p className="muted">The same in both: {same.join(", ").toLowerCase()}.</p>}
      {left.kind === "detect" && right.kind === "detect" && left.result && right.result ? <Found lines={detectDiff(left.result as unknown as DetectResult, right.result as unknown as DetectResult)} /> : null}
      <Part {...input} />
      <TurnDifferences left={left} right={right} />
      {tables[0] !== null && tables[1] !== null ? <CellDiff before={tables[0]} after={tables[1]} /> : null}
      {rest.map((part) => (
        <Part key={part.title} {...part} />
      ))}
    </div>
  );
}

const TONES = { "+": "good", "-": "bad", "~": "warn" } as const;

function Found({ lines }: { lines: readonly Line[] }) {
  return (
    <section className="tight" aria-label="What was found">
      <div className="sec">
        <h2>What was found</h2> {lines.length === 0 ? <span className="muted">The same in both</span> : null}
      </div>
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
    <section className="tight" aria-label={title}>
      <div className="sec">
        <h2>{title}</h2> {isSame ? <span className="muted">The same in both</span> : null}
      </div>
      {isSame ? null : (
        <>
          <span>
            {words(diff.changed, "cell")} changed, {words(diff.added, "row")} new, {words(diff.dropped, "row")} gone
            {columns.map((column) => `, column ${visible(column.name)} ${column.state === "new" ? "new" : "gone"}`).join("")}{" "}
            <span className="muted">{diff.key === null ? "rows by their place" : `rows by ${visible(diff.key)}`}</span>
          </span>
          <MarkedTable label={title} diff={diff} />
        </>
      )}
    </section>
  );
}

function Part({ title, before, after, folded = false }: PartOf) {
  if (before === after) return null;
  const difference = <SplitDiff before={before} after={after} names={NAMES} />;
  if (folded) {
    return (
      <details>
        <summary>{title}</summary>
        {difference}
      </details>
    );
  }
  return (
    <section className="tight">
      <h2>{title}</h2>
      {difference}
    </section>
  );
}

function words(number: number, name: string): string {
  return `${count(number)} ${name}${number === 1 ? "" : "s"}`;
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
