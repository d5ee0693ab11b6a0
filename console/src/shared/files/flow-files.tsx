import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useRef, useState, type DragEvent, type ReactNode } from "react";
import { Problem } from "../../api/problem";
import type { FlowView } from "../../api/types";
import { announce } from "../page/announce";
import { visible } from "../code/ansi";
import "./flow-files.css";
import { importFlow, lineOf, nameFor, refusal } from "./flow-import";
import { Failed } from "../page/loading-states";
import { useWrite, WriteButton } from "../editing/write-button";

/** The outcome of one file. */
interface Outcome {
  name: string;
  text: string;
  flow: FlowView | null;
  left: number;
  error: unknown;
}

type Files = ReturnType<typeof useFlowFiles>;

/** Files become flows of their own; the only one without anything to read about it is opened. */
export function useFlowFiles() {
  const [outcomes, setOutcomes] = useState<Outcome[]>([]);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const client = useQueryClient();
  const { may } = useWrite();
  const take = async (files: readonly File[]): Promise<void> => {
    if (files.length === 0) return;
    setBusy(true);
    const made: Outcome[] = [];
    for (const file of files) made.push(may ? await imported(file) : refused(file.name, "This key may not import: it needs the write scope."));
    setBusy(false);
    void client.invalidateQueries({ queryKey: ["flows"] });
    announce(made.map(told).join(". "), "import");
    const [only] = made;
    if (made.length === 1 && only?.flow && (only.flow.warnings ?? []).length + only.left === 0) {
      setOutcomes([]);
      void navigate({ to: "/flows/$id", params: { id: only.flow.id } });
    } else setOutcomes(made);
  };
  return { outcomes, busy, take, clear: () => setOutcomes([]) };
}

async function imported(file: File): Promise<Outcome> {
  const wrong = refusal(file);
  if (wrong !== null) return refused(file.name, wrong);
  try {
    const text = await file.text();
    return { name: file.name, text, error: null, ...(await importFlow(text, nameFor(file.name))) };
  } catch (error) {
    return { ...refused(file.name, ""), error };
  }
}

function refused(name: string, why: string): Outcome {
  return { name, text: "", flow: null, left: 0, error: new Problem(0, "", "It cannot be imported", why, null) };
}

function told({ name, flow, error }: Outcome): string {
  const warnings = flow?.warnings?.length ?? 0;
  if (flow === null) return `${name} was not imported: ${error instanceof Error ? error.message : String(error)}`;
  return `${name} was imported${warnings === 0 ? "" : `, but for ${warnings === 1 ? "one line" : `${warnings} lines`}`}`;
}

const isOfFiles = (event: DragEvent): boolean => event.dataTransfer.types.includes("Files");

/** The whole of it takes dropped files, and says so while they are over it. */
export function FlowDrop({ files, children }: { files: Files; children: ReactNode }) {
  const [over, setOver] = useState(false);
  const leave = (event: DragEvent): void => {
    if (!(event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget))) setOver(false);
  };
  const enter = (event: DragEvent): void => {
    if (!isOfFiles(event)) return;
    event.preventDefault();
    if (!over) announce("Drop Mermaid or JSON here: it becomes a flow of its own", "import");
    setOver(true);
  };
  const drop = (event: DragEvent): void => {
    setOver(false);
    if (!isOfFiles(event)) return;
    event.preventDefault();
    void files.take([...event.dataTransfer.files]);
  };
  return (
    <div className="stack drop-page" data-over={over} onDragEnter={enter} onDragOver={enter} onDragLeave={leave} onDrop={drop}>
      {over ? <div className="drop drop-here">Drop Mermaid or JSON here: it becomes a flow of its own</div> : null}
      <Outcomes files={files} />
      {children}
    </div>
  );
}

/** The same without a pointer. */
export function ChooseFlowFiles({ files }: { files: Files }) {
  const chooser = useRef<HTMLInputElement>(null);
  const choose = (input: HTMLInputElement): void => {
    void files.take([...(input.files ?? [])]);
    input.value = ""; // the same file again, once it is fixed
  };
  return (
    <>
      <input ref={chooser} type="file" multiple hidden accept=".mmd,.mermaid,.md,.markdown,.json,.excalidraw,.canvas,.txt" aria-label="Files to import" onChange={(event) => choose(event.currentTarget)} />
      <WriteButton variant="default" loading={files.busy} onClick={() => chooser.current?.click()}>
        Import files…
      </WriteButton>
    </>
  );
}

function Outcomes({ files }: { files: Files }) {
  if (files.outcomes.length === 0) return null;
  return (
    <section className="stack" aria-label="What was imported">
      {files.outcomes.map((outcome, index) => (outcome.flow === null ? <NotImported key={index} {...outcome} /> : <Imported key={index} {...outcome} flow={outcome.flow} />))}
      <button type="button" className="link" onClick={files.clear}>
        Close
      </button>
    </section>
  );
}

function NotImported({ name, error }: Outcome) {
  return (
    <div className="tight">
      <b>{visible(name)} was not imported</b>
      <Failed error={error} />
    </div>
  );
}

interface ImportedProps {
  name?: string;
  text: string;
  flow: FlowView;
  left: number;
}

/** The lines that were not understood, unchanged, and the flow of the others. */
export function Imported({ name, text, flow, left }: ImportedProps) {
  const warnings = flow.warnings ?? [];
  return (
    <div className={`callout tight ${warnings.length === 0 ? "good" : "warn"}`} role={warnings.length === 0 ? "status" : "alert"}>
      <b>
        {name === undefined ? "Imported" : `${visible(name)} was imported`}
        {warnings.length === 0 ? "" : `, but for ${warnings.length === 1 ? "one line" : `${warnings.length} lines`}`}
      </b>
      {warnings.map((warning, index) => (
        <Line key={index} line={lineOf(text, warning.line)} warning={warning} />
      ))}
      {left === 0 ? null : <span>{left === 1 ? "Another diagram is" : `${left} more diagrams are`} in the file; the first was imported.</span>}
      <Link to="/flows/$id" params={{ id: flow.id }} className="plain">
        Open the flow
      </Link>
    </div>
  );
}

/** The line unchanged, and of several statements on it the one that is meant. */
function Line({ line, warning }: { line: string; warning: { line: number; text: string } }) {
  return (
    <span>
      line {warning.line}: <code>{visible(line)}</code>
      {warning.text === line || line === "" ? "" : `, there ${visible(warning.text)}`}
    </span>
  );
}
