import type { ReactNode } from "react";
import type { Effect, Iteration, Job, JobEvent, TransformResult } from "../api/types";
import { DownloadFile, Picture } from "../shared/blob";
import { Code, Diff } from "../shared/code";
import { Tag } from "../shared/marks";
import { count } from "../shared/numbers";
import { FileTable } from "../shared/file-table";
import { DataTable } from "../shared/table";
import { took } from "../shared/time";
import { visible } from "../shared/ansi";
import { assertable } from "./assertions";
import { Checks } from "./checks";
import { originsOf, told, type Origin } from "./origins";

/** What a transform gave: the table or plot, what it did to the data, and what holds of it. */
export function TransformResultView({ result, onAssert }: { result: TransformResult; onAssert?: (text: string) => void }) {
  const origins = originsOf(result);
  const hints = new Map(origins.map((origin) => [origin.column, visible(told(origin))]));
  return (
    <div className="stack">
      {result.status === "best_so_far" ? <p className="callout warn">The budget was spent: this is the best result so far, not a confirmed one.</p> : null}
      {result.question ? <p className="callout">{visible(result.question)}</p> : null}
      <Assertions result={result} />
      <Checks checks={result.checks ?? []} />
      {result.table ? (
        <>
          {result.table.file_id && result.table.row_count > result.table.rows.length ? (
            <FileTable label="The result" fileId={result.table.file_id} hints={hints} />
          ) : (
            <DataTable label="The result" columns={result.table.columns} rows={result.table.rows as unknown[][]} total={result.table.row_count} hints={hints} />
          )}
          <Origins origins={origins} />
          {result.table.file_id ? (
            <span>
              <DownloadFile fileId={result.table.file_id} name="result.parquet" />
            </span>
          ) : null}
        </>
      ) : null}
      {result.plot_file_id ? <Picture fileId={result.plot_file_id} alt="The plot that the code drew" /> : null}
      {result.effect ? <EffectView effect={result.effect} result={result} onAssert={onAssert} /> : null}
      {result.explanation ? <p>{visible(result.explanation)}</p> : null}
      <Sent result={result} />
    </div>
  );
}

function Assertions({ result }: { result: TransformResult }) {
  const checks = result.assertions ?? [];
  if (checks.length === 0) return null;
  return (
    <section aria-label="Assertions">
      {checks.map((check) => (
        <div key={check.text} className={`check ${check.holds ? "good" : "bad"}`}>
          <span>{check.holds ? "✓" : "✗"}</span>
          <code>{visible(check.text)}</code> <span className="muted">{visible(check.detail)}</span>
        </div>
      ))}
    </section>
  );
}

/** What the code did to the data, line by line; a line that can be demanded becomes an assertion by a click. */
export function EffectView({ effect, result, onAssert }: { effect: Effect; result: TransformResult; onAssert?: (text: string) => void }) {
  const lines = assertable(effect, result);
  return (
    <section className="panel" aria-label="Effect">
      <h3>What it did to the data</h3>
      {effect.no_op ? <p className="callout warn">Nothing: the result is the input.</p> : null}
      <table className="grid-table wide wrap">
        <tbody>
          {lines.map((line) => (
            <tr key={line.what}>
              <td>{visible(line.what)}</td>
              <td className="mono">
                {line.before === null ? null : (
                  <>
                    {visible(line.before)} → <b>{visible(line.after ?? "")}</b>
                  </>
                )}
                {line.before === null ? visible(line.after ?? "") : null}
              </td>
              <td>
                {line.kept ? <Tag tone="good">unchanged</Tag> : null}
                {line.assertion !== null && onAssert !== undefined ? (
                  <button type="button" className="link" onClick={() => onAssert(line.assertion!)} title={`Demand it of every run: ${line.assertion}`}>
                    assert <code>{visible(line.assertion)}</code>
                  </button>
                ) : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The same as the titles of the columns tell, for who has no pointer. */
function Origins({ origins }: { origins: readonly Origin[] }) {
  return (
    <details>
      <summary>Where the columns come from</summary>
      <div className="scroll" tabIndex={0} role="region" aria-label="Where the columns come from">
        <table className="grid-table wide wrap">
          <tbody>
            {origins.map((origin) => (
              <tr key={origin.column}>
                <th scope="row" className="mono">
                  {visible(origin.column)}
                </th>
                <td>{visible(told({ ...origin, lines: [] }))}</td>
                <td className="mono">
                  {origin.lines.map((line) => (
                    <div key={line.number}>
                      <span className="muted">{line.number}</span> {visible(line.text)}
                    </div>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** Which cells of which table each message to a model held. */
function Sent({ result }: { result: TransformResult }) {
  const audit = result.audit ?? [];
  if (audit.length === 0) return null;
  return (
    <section className="panel" aria-label="What left this machine">
      <h3>What left this machine for the model</h3>
      <table className="grid-table wide wrap">
        <thead>
          <tr>
            <th>Turn</th>
            <th>Table</th>
            <th>Cells of</th>
            <th>Masked</th>
          </tr>
        </thead>
        <tbody>
          {audit.map((sent, index) => (
            <tr key={index}>
              <td>{sent.turn}</td>
              <td className="mono">{visible(sent.table)}</td>
              <td>
                first {count(sent.rows)} rows of {visible(sent.columns.join(", ")) || "no column"}
                {sent.stand_ins ? " (pseudonyms, not the values)" : ""}
              </td>
              <td>{(sent.masked ?? []).length === 0 ? <span className="muted">none</span> : <Tag tone="accent">{visible(sent.masked!.join(", "))}</Tag>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** The repair strip: each attempt as what it changed of the one before, under the error that asked for the change. */
export function RepairStrip({ attempts, chosen = null, below }: { attempts: readonly Iteration[]; chosen?: number | null; below?: (attempt: Iteration) => ReactNode }) {
  if (attempts.length === 0) return <p className="muted">No attempt yet.</p>;
  return (
    <div className="stack">
      {attempts.map((attempt, index) => {
        const before = attempts[index - 1];
        const failed = before !== undefined && before.outcome !== "result";
        return (
          <section key={attempt.number} className="panel stack" aria-label={`Attempt ${attempt.number}`} data-attempt={attempt.number} data-chosen={attempt.number === chosen}>
            <div className="bar">
              <b>Attempt {attempt.number}</b>
              <Tag tone={attempt.outcome === "result" ? "good" : "bad"}>{attempt.outcome.replaceAll("_", " ")}</Tag>
              <span className="muted">{took(attempt.seconds)}</span>
            </div>
            {failed ? (
              <div className="callout bad">
                <b>Because attempt {before.number} gave:</b>
                <pre className="mono wrapped">{visible(before.message)}</pre>
              </div>
            ) : null}
            {attempt.code === "" ? null : before === undefined || before.code === "" ? (
              <Code text={attempt.code} marked={lineOfError(attempt)} />
            ) : (
              <Diff before={before.code} after={attempt.code} marked={lineOfError(before)} />
            )}
            <pre className={`mono wrapped ${attempt.outcome === "result" ? "muted" : "bad"}`}>{visible(pinned(attempts, index) ? attempt.message.split("\n")[0]! : attempt.message)}</pre>
            {(attempt.assertions ?? []).map((check) => (
              <div key={check.text} className={`check ${check.holds ? "good" : "bad"}`}>
                <span>{check.holds ? "✓" : "✗"}</span>
                <code>{visible(check.text)}</code> <span className="muted">{visible(check.detail)}</span>
              </div>
            ))}
            {attempt.table ? (
              <details>
                <summary>
                  Its table <span className="muted">{count(attempt.table.row_count)} rows</span>
                </summary>
                <DataTable label={`What attempt ${attempt.number} came to`} columns={attempt.table.columns} rows={attempt.table.rows as unknown[][]} total={attempt.table.row_count} />
              </details>
            ) : null}
            {below?.(attempt)}
          </section>
        );
      })}
    </div>
  );
}

/** Whether the next attempt shows this one's message whole, above what it changed. */
function pinned(attempts: readonly Iteration[], index: number): boolean {
  return index + 1 < attempts.length && attempts[index]!.outcome !== "result";
}

/** The line of the code that the error names. */
function lineOfError(attempt: Iteration): number[] {
  const match = [...attempt.message.matchAll(/line (\d+)/g)].at(-1);
  return attempt.outcome === "result" || match === undefined ? [] : [Number(match[1])];
}

/** The attempts that there are: of the result, of the error of a job that failed, or of the events while it runs. */
export function attemptsOf(job: Job, events: readonly JobEvent[]): Iteration[] {
  const done = (job.result as TransformResult | null)?.iterations ?? (job.error as { iterations?: Iteration[] } | null)?.iterations;
  if (done !== undefined) return done;
  return events
    .filter((event) => event.type === "turn_taken")
    .map((event) => {
      const outcome = event.outcome as Partial<Iteration> | null;
      const proposal = event.proposal as { code?: string } | null;
      return {
        number: Number(event.number),
        code: proposal?.code ?? "",
        outcome: (outcome?.outcome ?? "error") as Iteration["outcome"],
        message: outcome?.message ?? "",
        seconds: outcome?.seconds ?? 0,
        effect: outcome?.effect ?? null,
        table: outcome?.table ?? null,
        assertions: outcome?.assertions ?? [],
      };
    })
    .filter((attempt) => attempt.code !== "");
}
