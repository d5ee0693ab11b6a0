import { Button, Select, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { post } from "../../api/client";
import type { CollectionView, IngestResult, Job } from "../../api/types";
import { FollowedJob } from "../../results/followed-job";
import { visible } from "../../shared/code/ansi";
import { Fault, faultsOf } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { WriteButton } from "../../shared/editing/write-button";
import type { ReadingOptions } from "../../shared/files/reading";
import { Icon } from "../../shared/values/icon";
import { declarationOf, USES, type ColumnDraft, type TableDraft, type Use } from "./declaration";
import { Mapping } from "./mapping";
import type { RecordMapping } from "./mapping-guess";

const FIRST: TableDraft = { name: "", columns: [] };

/** A new collection: its tables, with what their records are filtered and scored by. */
export function NewCollection({ first, onDone }: { first: boolean; onDone: (name: string) => void }) {
  const [name, setName] = useState("");
  const [tables, setTables] = useState<readonly TableDraft[]>([FIRST]);
  const make = useMutation({
    mutationFn: () => post<CollectionView>("/v1/collections", { name, tables: declarationOf(tables) }),
    onSuccess: () => {
      setName("");
      setTables([FIRST]);
      onDone(name);
    },
  });
  const faults = faultsOf(make.error, ["name", "tables"]);
  const set = (place: number, table: TableDraft): void => setTables(tables.map((each, index) => (index === place ? table : each)));
  return (
    <details className="panel" open={first}>
      <summary>New collection</summary>
      <div className="stack">
        <TextInput label="Name" placeholder="e.g. talks" error={faults.at("name")} value={name} onChange={(event) => setName(event.currentTarget.value)} />
        {tables.map((table, place) => (
          <TableForm key={place} table={table} number={place + 1} onChange={(changed) => set(place, changed)} onRemove={tables.length === 1 ? undefined : () => setTables(tables.filter((_, index) => index !== place))} />
        ))}
        <Fault id="tables" text={faults.at("tables")} />
        {make.error === null ? null : <Failed error={make.error} faults={faults} />}
        <div className="bar">
          <Button variant="default" onClick={() => setTables([...tables, FIRST])}>
            Add table
          </Button>
          <span className="spacer" />
          <WriteButton disabled={name === "" || tables.some((table) => table.name.trim() === "")} loading={make.isPending} onClick={() => make.mutate()}>
            Create
          </WriteButton>
        </div>
      </div>
    </details>
  );
}

interface TableFormProps {
  table: TableDraft;
  number: number;
  onChange: (table: TableDraft) => void;
  /** Absent of the only one. */
  onRemove?: () => void;
}

function TableForm({ table, number, onChange, onRemove }: TableFormProps) {
  const set = (place: number, column: ColumnDraft): void => onChange({ ...table, columns: table.columns.map((each, index) => (index === place ? column : each)) });
  return (
    <fieldset className="tight" aria-label={`Table ${number}`}>
      <TextInput label="Table" placeholder="e.g. articles" description="Every record has an ID, a name and a text. Add what else one filters by (a type), or searches by on its own (a facet)." value={table.name} onChange={(event) => onChange({ ...table, name: event.currentTarget.value })} />
      {table.columns.map((column, place) => (
        <div key={place} className="bar line">
          <TextInput className="clip" aria-label={`Name of column ${place + 1}`} placeholder="e.g. year" value={column.name} onChange={(event) => set(place, { ...column, name: event.currentTarget.value })} />
          <Select aria-label={`Use of column ${place + 1}`} data={[...USES]} value={column.use} allowDeselect={false} onChange={(use) => set(place, { ...column, use: use as Use })} w={120} />
          <button type="button" className="icon-button" aria-label={`Remove column ${place + 1}`} onClick={() => onChange({ ...table, columns: table.columns.filter((_, index) => index !== place) })}>
            <Icon of={X} />
          </button>
        </div>
      ))}
      <span className="bar">
        <button type="button" className="link" onClick={() => onChange({ ...table, columns: [...table.columns, { name: "", use: "keyword" }] })}>
          Add column
        </button>
        {onRemove === undefined ? null : (
          <button type="button" className="link" onClick={onRemove}>
            Remove table
          </button>
        )}
      </span>
    </fieldset>
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
