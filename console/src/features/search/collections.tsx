import { Select, Textarea, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { post } from "../../api/client";
import type { CollectionView, IngestResult, Job } from "../../api/types";
import { FollowedJob } from "../../results/followed-job";
import { visible } from "../../shared/code/ansi";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { WriteButton } from "../../shared/editing/write-button";
import type { ReadingOptions } from "../../shared/files/reading";
import { Mapping } from "./mapping";
import type { RecordMapping } from "./mapping-guess";

const DECLARATION = `{
  "articles": {"facets": {"topic": 1.0}, "fields": {"year": "integer"}}
}`;

/** A new collection: its tables with their facets and fields, as JSON. */
export function NewCollection({ first, onDone }: { first: boolean; onDone: (name: string) => void }) {
  const [name, setName] = useState("");
  const [tables, setTables] = useState(DECLARATION);
  const make = useMutation({
    mutationFn: () => post<CollectionView>("/v1/collections", { name, tables: JSON.parse(tables) as unknown }),
    onSuccess: () => {
      setName("");
      onDone(name);
    },
  });
  const faults = faultsOf(make.error, ["name", "tables"]);
  return (
    <details className="panel" open={first}>
      <summary>New collection</summary>
      <div className="stack">
        <TextInput label="Name" error={faults.at("name")} value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Textarea label="Tables" error={faults.at("tables")} autosize minRows={4} value={tables} classNames={{ input: "mono" }} onChange={(event) => setTables(event.currentTarget.value)} />
        {make.error === null ? null : <Failed error={make.error} faults={faults} />}
        <span>
          <WriteButton disabled={name === ""} loading={make.isPending} onClick={() => make.mutate()}>
            Create
          </WriteButton>
        </span>
      </div>
    </details>
  );
}

/** Records from a file into one table: the file's columns are matched before anything is added. */
export function Ingest({ collection, onDone }: { collection: CollectionView; onDone: () => void }) {
  const tables = Object.keys(collection.tables);
  const [table, setTable] = useState(tables[0] ?? null);
  const [file, setFile] = useState<Uploaded | null>(null);
  const [job, setJob] = useState<string | null>(null);
  // Of an empty collection this is the next step; it stays open when its records are there.
  const [open] = useState(() => Object.values(collection.records ?? {}).every((records) => records === 0));
  const ingest = useMutation({
    mutationFn: ({ mapping, reading }: { mapping: RecordMapping | null; reading: ReadingOptions }) => post<Job>("/v1/jobs", { kind: "ingest", input: { collection: collection.name, table, file_id: file!.id, ...reading, ...(mapping === null ? {} : { mapping }) } }),
    onSuccess: (made) => {
      setJob(made.id);
      setFile(null);
    },
  });
  const wrong = faultsOf(ingest.error, ["input.table", "input.file_id"]);
  return (
    <details className="panel" open={open}>
      <summary>Add records</summary>
      <div className="stack">
        <Select label="Table" error={wrong.at("input.table")} data={tables} value={table} onChange={setTable} />
        <FileDrop label="Upload file (JSONL, CSV, Parquet)" many={false} files={file === null ? [] : [file]} error={wrong.at("input.file_id")} onChange={(files) => setFile(files[0] ?? null)} />
        {file === null || table === null ? null : <Mapping key={`${file.id} ${table}`} file={file} spec={collection.tables[table]!} busy={ingest.isPending} onAdd={(mapping, reading) => ingest.mutate({ mapping, reading })} />}
        {ingest.error === null ? null : <Failed error={ingest.error} faults={wrong} />}
        {job === null ? null : (
          <FollowedJob id={job}>{(done) => (done.result ? <Ingested result={done.result as unknown as IngestResult} onDone={onDone} /> : null)}</FollowedJob>
        )}
      </div>
    </details>
  );
}

function Ingested({ result, onDone }: { result: IngestResult; onDone: () => void }) {
  const latest = useRef(onDone);
  useEffect(() => latest.current(), []);
  return (
    <div className="tight">
      <span role="status">
        {result.ingested} new, {result.updated} changed, {result.unchanged} unchanged, {result.deleted} deleted
      </span>
      {result.errors.slice(0, 20).map((error) => (
        <span key={error.index} className="bad">
          Record {error.index}: {visible(error.message)}
        </span>
      ))}
    </div>
  );
}
