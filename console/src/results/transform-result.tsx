import type { TransformResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Picture } from "../shared/files/blob";
import { FileTable } from "../shared/tables/file-table";
import { Tag } from "../shared/values/marks";
import { count } from "../shared/values/numbers";
import { DataTable } from "../shared/tables/table";
import { Checks } from "./checks";
import { Unverified } from "./unverified";
import { AssertionMarks, EffectView } from "./effect";
import { TableDownloads } from "./table-downloads";
import { explainedWords, originsOf, told, type Origin } from "./origins";
import { SortedTable } from "../shared/tables/sorted-table";
import { scrollEnd } from "../shared/tables/scroll-end";

/** What a transform gave: the table or plot, what it did to the data, and what holds of it. */
export function TransformResultView({ jobId, result, onAssert }: { jobId: string; result: TransformResult; onAssert?: (text: string) => void }) {
  const origins = originsOf(result);
  const hints = new Map(origins.map((origin) => [origin.column, visible(told(origin))]));
  return (
    <div className="stack">
      {result.status === "best_so_far" ? <p className="callout warn">The budget was spent: this is the best result so far, not a confirmed one.</p> : null}
      {result.status === "unverified" ? <Unverified words="Unverified: the code ran, but nothing proves this result." reasons={result.unverified_because ?? []} /> : null}
      {result.question ? <p className="callout">{visible(result.question)}</p> : null}
      <AssertionMarks checks={result.assertions ?? []} />
      {result.table ? (
        <>
          {result.table.file_id && result.table.row_count > result.table.rows.length ? (
            <FileTable label="The result" fileId={result.table.file_id} hints={hints} />
          ) : (
            <DataTable label="The result" columns={result.table.columns} rows={result.table.rows as unknown[][]} total={result.table.row_count} hints={hints} />
          )}
          {result.table.file_id ? <TableDownloads jobId={jobId} /> : null}
          <Origins origins={origins} words={explainedWords(result)} />
        </>
      ) : null}
      {result.plot_file_id ? <Picture fileId={result.plot_file_id} alt="The plot that the code drew" /> : null}
      <Checks checks={result.checks ?? []} />
      {result.effect ? <EffectView effect={result.effect} of={result} onAssert={onAssert} /> : null}
      {result.explanation ? <p>{visible(result.explanation)}</p> : null}
      <Sent result={result} />
    </div>
  );
}

/** The titles of the columns as text, for users without a pointer. */
function Origins({ origins, words }: { origins: readonly Origin[]; words: string }) {
  return (
    <details>
      <summary>Column lineage</summary>
      {words === "" ? null : <p className="muted">{words}</p>}
      <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label="Column lineage">
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
      <h3>Data sent to the model</h3>
      <SortedTable
        id="sent"
        label="Cells that models saw"
        look="wide wrap"
        columns={[{ name: "Turn", by: (sent) => sent.turn }, { name: "Table", by: (sent) => sent.table }, "Cells of", "Masked"]}
        items={audit}
        row={(sent, index) => (
            <tr key={index}>
              <td>{sent.turn}</td>
              <td className="mono">{visible(sent.table)}</td>
              <td>
                first {count(sent.rows)} rows of {visible(sent.columns.join(", ")) || "no column"}
                {sent.stand_ins ? " (pseudonyms, not the values)" : ""}
              </td>
              <td>{(sent.masked ?? []).length === 0 ? <span className="muted">none</span> : <Tag tone="accent">{visible(sent.masked!.join(", "))}</Tag>}</td>
            </tr>
        )}
      />
    </section>
  );
}
