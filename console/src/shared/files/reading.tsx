import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { FileReading } from "../../api/types";
import { visible } from "../code/ansi";
import { NumberInput } from "../editing/number-input";

/** Options that a request with the file states; what is left out is detected. */
export interface ReadingOptions {
  sheet?: string;
  delimiter?: string;
  encoding?: string;
  header_row?: number;
  skip?: number;
  decimal?: "." | ",";
  na_values?: string[];
}

const NAMES = ["sheet", "delimiter", "encoding", "header_row", "skip", "decimal", "na_values"] as const;
const DELIMITERS: Record<string, string> = { ",": "Comma", ";": "Semicolon", "\t": "Tab", "|": "Pipe", " ": "Space" };
const ENCODINGS = ["utf-8", "windows-1252", "iso-8859-15", "utf-16", "windows-1250", "windows-1251", "shift_jis", "gb18030", "big5", "mac-roman"];
const FORMATS: Record<FileReading["format"], string> = { csv: "Text table", json: "JSON", jsonl: "JSON lines", parquet: "Parquet", arrow: "Arrow", excel: "Workbook", html: "HTML table" };
/** What a file that could not be read may need: that of a text table. */
const UNKNOWN: FileReading = { format: "csv", encoding: null, delimiter: null, header_row: null, decimal: null, sheet: null, sheets: [] };

/** The options among the fields of a data set. */
export function readingOf(fields: Record<string, unknown>): ReadingOptions {
  return Object.fromEntries(NAMES.filter((name) => fields[name] !== undefined && fields[name] !== null).map((name) => [name, fields[name]]));
}

/** How a file was read, in a line. */
export function readAs(found: FileReading): string {
  const parts = [FORMATS[found.format]];
  if (found.sheet) parts.push(`sheet ${found.sheet}`);
  if (found.encoding) parts.push(found.encoding);
  if (found.delimiter) parts.push((DELIMITERS[found.delimiter] ?? found.delimiter).toLowerCase());
  if (typeof found.header_row === "number") parts.push(found.header_row === 0 ? "no column names" : `names in row ${found.header_row}`);
  if (found.decimal === ",") parts.push("decimal comma");
  return parts.join(", ");
}

interface Props {
  /** Null where the file could not be read. */
  found: FileReading | null;
  notes: readonly string[];
  options: ReadingOptions;
  onChange: (options: ReadingOptions) => void;
}

/** How the file was read; a click opens the options, which are read again when one changes. */
export function ReadingPart({ found, notes, options, onChange }: Props) {
  const [open, setOpen] = useState(false);
  const shown = found ?? UNKNOWN;
  const isText = shown.format === "csv" || shown.format === "html";
  const isWorkbook = shown.format === "excel";
  const hasOptions = isText || isWorkbook || shown.encoding != null;
  const set = (change: ReadingOptions): void => onChange(readingOf({ ...options, ...change } as Record<string, unknown>));
  return (
    <div className="tight">
      <div className="bar">
        <span className="muted">{found === null ? "Not read" : `Read as: ${visible(readAs(found))}`}</span>
        {hasOptions ? (
          <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
            Change how it is read
          </button>
        ) : null}
        {Object.keys(options).length === 0 ? null : (
          <button type="button" className="link" onClick={() => onChange({})}>
            Detect again
          </button>
        )}
      </div>
      {notes.slice(0, MAX_NOTES).map((note) => (
        <span key={note} className="muted small">
          {visible(note)}
        </span>
      ))}
      {open && hasOptions ? (
        <div className="beside">
          {isWorkbook ? <Choice label="Sheet" value={shown.sheet} known={shown.sheets ?? []} onChange={(sheet) => set({ sheet })} /> : null}
          {isText || isWorkbook ? (
            <NumberInput label="Row of the column names" description="0: the file has none" min={0} max={60} value={options.header_row ?? shown.header_row ?? ""} onChange={(row) => set({ header_row: row === "" ? undefined : row })} />
          ) : null}
          {shown.format === "csv" ? <Choice label="Delimiter" value={shown.delimiter} known={Object.keys(DELIMITERS)} words={DELIMITERS} onChange={(delimiter) => set({ delimiter })} /> : null}
          {isWorkbook ? null : <Choice label="Encoding" value={shown.encoding} known={ENCODINGS} onChange={(encoding) => set({ encoding })} />}
          {isText ? <Choice label="Decimal sign" value={shown.decimal} known={[".", ","]} words={{ ".": "Point", ",": "Comma" }} onChange={(sign) => set({ decimal: sign as "." | "," | undefined })} /> : null}
          {isText || isWorkbook ? <Missing values={options.na_values ?? []} onChange={(values) => set({ na_values: values.length === 0 ? undefined : values })} /> : null}
        </div>
      ) : null}
    </div>
  );
}

const MAX_NOTES = 6;

function Choice({ label, value, known, words = {}, onChange }: { label: string; value: string | null | undefined; known: readonly string[]; words?: Record<string, string>; onChange: (value: string | undefined) => void }) {
  const values = value == null || known.includes(value) ? known : [value, ...known];
  return <Select label={label} placeholder="Detected" data={values.map((each) => ({ value: each, label: visible(words[each] ?? each) }))} value={value ?? null} onChange={(chosen) => onChange(chosen ?? undefined)} />;
}

/** Cells that mean a missing value; they are stated when the field is left. */
function Missing({ values, onChange }: { values: readonly string[]; onChange: (values: string[]) => void }) {
  const [text, setText] = useState(values.join(" "));
  const state = (): void => {
    const next = text.split(/\s+/).filter((mark) => mark !== "");
    if (next.join(" ") !== values.join(" ")) onChange(next);
  };
  return <TextInput label="Also missing" description="Such as -999 k.A." value={text} onChange={(event) => setText(event.currentTarget.value)} onBlur={state} onKeyDown={(event) => (event.key === "Enter" ? state() : undefined)} />;
}
