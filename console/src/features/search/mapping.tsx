import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import { Problem } from "../../api/problem";
import type { CollectionView, FileRows } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Checkbox } from "../../shared/editing/checkbox";
import { WriteButton } from "../../shared/editing/write-button";
import { ReadingPart, type ReadingOptions } from "../../shared/files/reading";
import type { Uploaded } from "../../shared/files/upload";
import { Callout } from "../../shared/page/callout";
import { Loaded } from "../../shared/page/loading-states";
import { DataTable } from "../../shared/tables/table";
import { count } from "../../shared/values/numbers";
import { faultOf, guessMapping, type RecordMapping } from "./mapping-guess";

interface Props {
  file: Uploaded;
  spec: CollectionView["tables"][string];
  busy: boolean;
  /** Null where the file cannot be read as a table here: the server finds the columns. */
  onAdd: (mapping: RecordMapping | null, reading: ReadingOptions) => void;
}

/** Files that become one record each, although a reader of tables might find lines and commas in them. */
const DOCUMENTS = /\.(md|markdown|qmd|rst|html?|pdf|docx)$/i;

/** The first rows of the file, and which of its columns are a record's ID, name, text and fields. */
export function Mapping({ file, spec, busy, onAdd }: Props) {
  const [reading, setReading] = useState<ReadingOptions>({});
  const isDocument = DOCUMENTS.test(file.name);
  const rows = useQuery({ queryKey: ["file-rows", file.id, "head", reading], queryFn: () => get<FileRows>(`/v1/files/${file.id}/rows`, { ...reading, limit: 3 }), retry: false, staleTime: Infinity, enabled: !isDocument });
  if (isDocument) {
    return (
      <Callout actions={<Add busy={busy} onAdd={() => onAdd(null, {})} />}>
        <b>A document.</b> It becomes a record with its <code>path</code>, <code>title</code> and text.
      </Callout>
    );
  }
  if (rows.error !== null) {
    return (
      <Callout actions={<Add busy={busy} onAdd={() => onAdd(null, reading)} />}>
        <b>No preview.</b> {visible(rows.error instanceof Problem ? rows.error.detail : "The file cannot be read as a table.")} <ReadingPart found={null} notes={[]} options={reading} onChange={setReading} />
      </Callout>
    );
  }
  return (
    <Loaded query={rows}>
      {(data) => (
        <div className="stack">
          <ReadingPart found={data.reading} notes={data.notes ?? []} options={reading} onChange={setReading} />
          <Columns key={JSON.stringify(reading)} data={data} spec={spec} busy={busy} onAdd={(mapping) => onAdd(mapping, reading)} />
        </div>
      )}
    </Loaded>
  );
}

function Add({ busy, disabled = false, rows, onAdd }: { busy: boolean; disabled?: boolean; rows?: number | null; onAdd: () => void }) {
  return (
    <WriteButton loading={busy} disabled={disabled} onClick={onAdd}>
      Add {rows == null ? "records" : `${count(rows)} ${rows === 1 ? "record" : "records"}`}
    </WriteButton>
  );
}

const MADE = "";

function Columns({ data, spec, busy, onAdd }: { data: FileRows; spec: Props["spec"]; busy: boolean; onAdd: (mapping: RecordMapping) => void }) {
  const names = data.columns.map(({ name }) => name);
  const wanted = [...Object.keys(spec.facets ?? {}), ...Object.keys(spec.fields ?? {})];
  const [mapping, setMapping] = useState(() => guessMapping(data.columns, wanted));
  const fault = faultOf(mapping);
  const text = mapping.text ?? [];
  const missing = wanted.filter((field) => !names.includes(field) && mapping.fields?.[field] === undefined);
  return (
    <div className="stack">
      <DataTable label="First rows of the file" columns={data.columns} rows={data.rows as unknown[][]} total={data.row_count ?? undefined} />
      <div className="beside">
        <Select label="ID" data={[{ value: MADE, label: "Made from the content" }, ...names]} value={mapping.id ?? MADE} onChange={(id) => setMapping({ ...mapping, id: id === MADE ? null : id })} />
        <Select label="Name" data={[{ value: MADE, label: "None" }, ...names]} value={mapping.name ?? MADE} onChange={(name) => setMapping({ ...mapping, name: name === MADE ? null : name })} />
        {wanted
          .filter((field) => !names.includes(field))
          .map((field) => (
            <Select
              key={field}
              label={visible(field)}
              data={[{ value: MADE, label: "Not in this file" }, ...names]}
              value={mapping.fields?.[field] ?? MADE}
              onChange={(column) => {
                const { [field]: _, ...others } = mapping.fields ?? {};
                setMapping({ ...mapping, fields: column === null || column === MADE ? others : { ...others, [field]: column } });
              }}
            />
          ))}
      </div>
      <fieldset className="bar">
        <legend className="small">Text</legend>
        {names.map((name) => (
          <Checkbox key={name} label={visible(name)} checked={text.includes(name)} onChange={(event) => setMapping({ ...mapping, text: event.currentTarget.checked ? [...text, name] : text.filter((each) => each !== name) })} />
        ))}
      </fieldset>
      {missing.length === 0 ? null : <p className="muted">Records will have no {visible(missing.join(", "))}.</p>}
      {fault === null ? null : (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
      <span>
        <Add busy={busy} disabled={fault !== null} rows={data.row_count} onAdd={() => onAdd(mapping)} />
      </span>
    </div>
  );
}
