import { Button, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { post } from "../../api/client";
import { jobQuery } from "../../api/queries";
import { TERMINAL, type CollectionView, type Job, type RecordsResult } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { Empty, Loaded } from "../../shared/page/loading-states";
import { SortedTable } from "../../shared/tables/sorted-table";

const PAGE = 50;

/** What the tables of a collection hold, page by page; the search worker reads it, by a job. */
export function Records({ collection }: { collection: CollectionView }) {
  const [open, setOpen] = useState(false);
  const tables = Object.keys(collection.tables);
  const [table, setTable] = useState(tables[0] ?? "");
  const thresholds = Object.entries(collection.thresholds?.[table] ?? {});
  return (
    <details className="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Records</summary>
      {open ? (
        <div className="stack">
          <Select label="Table of the records" data={tables} value={table} onChange={(chosen) => setTable(chosen ?? table)} />
          {thresholds.length === 0 ? null : (
            <div className="chips" aria-label="Thresholds">
              {thresholds.map(([name, value]) => (
                <span key={name}>
                  {visible(name.replace("_", " "))} <b>{value.toFixed(2)}</b>
                </span>
              ))}
            </div>
          )}
          <Pages key={table} collection={collection.name} table={table} />
        </div>
      ) : null}
    </details>
  );
}

function Pages({ collection, table }: { collection: string; table: string }) {
  const [starts, setStarts] = useState<(string | null)[]>([null]);
  const after = starts[starts.length - 1]!;
  const asked = useQuery({
    queryKey: ["records", collection, table, after],
    queryFn: () => post<Job>("/v1/jobs", { kind: "records", input: { collection, table, limit: PAGE, ...(after === null ? {} : { after }) } }, { Prefer: "wait=30" }),
    staleTime: 60_000,
  });
  const held = asked.data !== undefined && TERMINAL.has(asked.data.state);
  const later = useQuery({ ...jobQuery(asked.data?.id ?? ""), enabled: asked.data !== undefined && !held });
  return (
    <Loaded query={held || asked.data === undefined ? asked : later}>
      {(job) =>
        job.error ? (
          <p className="callout bad">{visible(job.error.detail ?? job.error.title)}</p>
        ) : job.result ? (
          <OnePage
            result={job.result as unknown as RecordsResult}
            from={(starts.length - 1) * PAGE + 1}
            onBack={starts.length > 1 ? () => setStarts(starts.slice(0, -1)) : undefined}
            onNext={(next) => setStarts([...starts, next])}
          />
        ) : (
          <p className="muted">The search worker has not read it yet.</p>
        )
      }
    </Loaded>
  );
}

function OnePage({ result, from, onBack, onNext }: { result: RecordsResult; from: number; onBack?: () => void; onNext: (next: string) => void }) {
  if (result.records.length === 0) return <Empty title="The table has no records" />;
  const next = result.next;
  return (
    <>
      <SortedTable
        id="records"
        label="Records of the table"
        look="wide wrap"
        columns={[{ name: "Id", by: (row) => row.id }, { name: "Name and text", by: (row) => row.name }, "Facets", "Fields"]}
        items={result.records}
        row={(record) => (
          <tr key={record.id}>
            <td className="mono">{visible(record.id)}</td>
            <td>
              <b>{visible(record.name)}</b> <span title={visible(record.text)}>{visible(cut(record.text, 200))}</span> {record.cut ? <Tag>cut</Tag> : null}
            </td>
            <td>{Object.entries(record.facets).map(([name, text]) => `${visible(name)}: ${visible(cut(text, 80))}`).join("; ")}</td>
            <td className="mono">{visible(cut(JSON.stringify(record.fields), 300))}</td>
          </tr>
        )}
      />
      <span className="bar">
        <span className="muted">
          {count(from)} to {count(from + result.records.length - 1)} of {count(result.total)}
        </span>
        <Button variant="default" disabled={onBack === undefined} onClick={onBack}>
          Back
        </Button>
        <Button variant="default" disabled={next === null} onClick={() => next !== null && onNext(next)}>
          More records
        </Button>
      </span>
    </>
  );
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
