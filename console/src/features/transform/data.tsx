import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import { upload } from "../../api/client";
import { visible } from "../../shared/code/ansi";
import { headOf } from "../../shared/tables/csv";
import type { Faults } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import type { ReadingOptions } from "../../shared/files/reading";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { Columns, FileColumns } from "./columns";
import { SAMPLE, type DataDraft, type Draft } from "./draft";
import { NumberInput } from "../../shared/editing/number-input";

type Change = (change: (now: Draft) => Draft) => void;

/** The data: files, pasted text or a sample, with what the model will see of them; a click masks a column. */
export function DataPart({ draft, change, faults }: { draft: Draft; change: Change; faults: Faults }) {
  const [pasting, setPasting] = useState(false);
  const [text, setText] = useState("");
  const [fault, setFault] = useState<unknown>(null);
  const add = (each: Omit<DataDraft, "name">): void =>
    change((now) => ({ ...now, data: [...now.data, { ...each, name: now.data.length === 0 ? "data" : `data${now.data.length + 1}` }] }));
  const paste = async (): Promise<void> => {
    try {
      const made = await upload(new Blob([text]), "pasted.csv");
      add({ fileId: made.id, csv: null, label: "pasted", head: headOf(text) });
      setPasting(false);
      setText("");
    } catch (error) {
      setFault(error);
    }
  };
  const uploaded = (files: Uploaded[]): void => {
    for (const file of files) add({ fileId: file.id, csv: null, label: file.name, head: null });
  };
  return (
    <section className="stack" aria-label="Data">
      <FileDrop label="Add data files" files={[]} error={faults.at("input.data")} onChange={uploaded} />
      <div className="bar">
        <button type="button" className="link" onClick={() => setPasting(!pasting)}>
          Paste CSV
        </button>
        <button
          type="button"
          className="link"
          onClick={() => {
            add({ fileId: null, csv: SAMPLE.csv, label: "sample", head: headOf(SAMPLE.csv) });
            change((now) => ({ ...now, task: now.task || SAMPLE.task }));
          }}
        >
          Use a sample
        </button>
      </div>
      {fault === null ? null : <Failed error={fault} />}
      {pasting ? (
        <div className="tight">
          <Textarea label="CSV with a line of names" minRows={5} autosize maxRows={10} classNames={{ input: "mono" }} value={text} onChange={(event) => setText(event.currentTarget.value)} />
          <span>
            <Button variant="default" disabled={text.trim() === ""} onClick={() => void paste()}>
              Use it
            </Button>
          </span>
        </div>
      ) : null}
      {draft.data.map((data, index) => (
        <DataSet key={index} data={data} draft={draft} change={change} remove={() => change((now) => ({ ...now, data: now.data.filter((_, place) => place !== index) }))} />
      ))}
      {draft.data.length > 0 ? (
        <NumberInput label="Sample rows sent to the model" error={faults.at("input.preview.rows")} description="0 sends only column names and types" min={0} max={100} value={draft.rows} onChange={(rows) => change((now) => ({ ...now, rows: Number(rows) }))} w={220} />
      ) : null}
    </section>
  );
}

function DataSet({ data, draft, change, remove }: { data: DataDraft; draft: Draft; change: Change; remove: () => void }) {
  const toggle = (column: string): void =>
    change((now) => ({ ...now, mask: now.mask.includes(column) ? now.mask.filter((each) => each !== column) : [...now.mask, column] }));
  const label = `What the model sees of ${data.name}`;
  const read = (reading: ReadingOptions): void => change((now) => ({ ...now, data: now.data.map((each) => (each.name === data.name ? { ...each, reading } : each)) }));
  return (
    <div className="panel tight">
      <div className="bar">
        <b className="mono">{data.name}</b> <span className="muted">{visible(data.label)}</span>
        <span className="spacer" />
        <button type="button" className="link" onClick={remove} aria-label={`Remove ${data.name}`}>
          Remove
        </button>
      </div>
      {data.fileId !== null ? (
        <FileColumns fileId={data.fileId} label={label} rows={draft.rows} masked={draft.mask} toggle={toggle} reading={data.reading ?? {}} onReading={read} />
      ) : data.head !== null ? (
        <Columns label={label} shown={{ names: data.head.columns, rows: data.head.rows.slice(0, draft.rows) }} masked={draft.mask} toggle={toggle} />
      ) : (
        <span className="muted">Its columns are read when it runs.</span>
      )}
    </div>
  );
}
