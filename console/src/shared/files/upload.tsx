import { lazy, Suspense, useId, useRef, useState } from "react";
import { upload } from "../../api/client";
import { Fault } from "../editing/field-errors";
import { bytes } from "../values/numbers";
import { Failed } from "../page/loading-states";
import { visible } from "../code/ansi";
import { WriteButton } from "../editing/write-button";

export interface Uploaded {
  id: string;
  name: string;
  size: number;
}

const FileTable = lazy(() => import("../tables/file-table").then((module) => ({ default: module.FileTable })));
const TABLE = /\.(csv|tsv|parquet|xlsx|jsonl|ndjson)$/i;

interface Props {
  files: readonly Uploaded[];
  onChange: (files: Uploaded[]) => void;
  many?: boolean;
  label: string;
  /** Whether a file that is a table shows its rows on demand. */
  preview?: boolean;
  /** What is wrong with the files. */
  error?: string;
}

/** Files by drop, choice or paste; they are uploaded at once, and a job refers to them. */
export function FileDrop({ files, onChange, many = true, label, preview = false, error }: Props) {
  const chooser = useRef<HTMLInputElement>(null);
  const id = useId();
  const [over, setOver] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<unknown>(null);
  const take = async (given: Iterable<File>): Promise<void> => {
    setBusy(true);
    setFault(null);
    try {
      const made = await Promise.all([...given].map((file) => upload(file, file.name)));
      onChange(many ? [...files, ...made] : made.slice(-1));
    } catch (error) {
      setFault(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="tight">
      <div
        className="drop bar"
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer.files);
        }}
      >
        <input ref={chooser} type="file" multiple={many} hidden aria-label={label} onChange={(event) => void take(event.currentTarget.files ?? [])} />
        <WriteButton variant="default" loading={busy} aria-describedby={error === undefined ? undefined : id} onClick={() => chooser.current?.click()}>
          {label}
        </WriteButton>
        <span className="muted">or drop {many ? "them" : "it"} here</span>
      </div>
      {files.map((file) => (
        <div key={file.id} className="tight">
          <div className="bar">
            <span className="mono">{visible(file.name)}</span>
            {file.size > 0 ? <span className="muted">{bytes(file.size)}</span> : null}
            {preview && TABLE.test(file.name) ? (
              <button type="button" className="link" aria-expanded={shown === file.id} aria-label={`Preview ${file.name}`} onClick={() => setShown(shown === file.id ? null : file.id)}>
                Preview
              </button>
            ) : null}
            <button type="button" className="link" aria-label={`Remove ${file.name}`} onClick={() => onChange(files.filter((each) => each.id !== file.id))}>
              Remove
            </button>
          </div>
          {shown === file.id ? (
            <Suspense>
              <FileTable fileId={file.id} label={`Rows of ${file.name}`} />
            </Suspense>
          ) : null}
        </div>
      ))}
      <Fault id={id} text={error} />
      {fault === null ? null : <Failed error={fault} />}
    </div>
  );
}
