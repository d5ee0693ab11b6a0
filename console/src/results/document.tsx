import { useState, type ReactNode } from "react";
import type { DocumentResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { DownloadFile } from "../shared/files/blob";
import { Tag } from "../shared/values/marks";
import { bytes, cost, count } from "../shared/values/numbers";
import { took } from "../shared/values/time";
import type { Scrolls } from "../shared/code/scroll-sync";
import { SIGNS, TONES } from "./block-states";
import { PageOfDocument } from "./document-page";
import { DisplayView } from "./execute";
import { Instruction } from "./instruction";
import { SortedTable } from "../shared/tables/sorted-table";

type Block = DocumentResult["blocks"][number];

interface Props {
  result: DocumentResult;
  source?: string;
  onLine?: (line: number) => void;
  beside?: Scrolls | null;
  /** Shown below the page, before its blocks. */
  below?: ReactNode;
}

/** The page, and below it every block: its text with values, the variables behind them, and its outputs where the page lacks them. */
export function DocumentResultView({ result, source, onLine, beside, below }: Props) {
  const onBlock = (id: string): void => {
    const block = result.blocks.find((each) => each.id === id);
    if (block !== undefined && onLine !== undefined) onLine(block.lines[0]);
    const place = document.getElementById(`block-${id}`);
    place?.scrollIntoView({ block: "nearest" });
    if (onLine === undefined) place?.focus();
  };
  return (
    <div className="stack">
      {result.estimate ? (
        <p className="callout">
          A dry run: {result.estimate.calls} model calls, about {count(result.estimate.input_tokens)} tokens in and {count(result.estimate.output_tokens ?? 0)} out, {cost(result.estimate.cost_usd)}.
        </p>
      ) : null}
      {result.html_file_id ? (
        <>
          <PageOfDocument result={result} source={source} beside={beside} onBlock={onBlock} />
          <span className="bar">
            <DownloadFile fileId={result.html_file_id} name="document.html" says="Download .html" />
          </span>
        </>
      ) : null}
      {below}
      {result.blocks.map((block) => (
        <BlockView key={block.id} block={block} inPage={Boolean(result.html_file_id)} onLine={onLine} onBlock={onBlock} />
      ))}
    </div>
  );
}

function lineWords(from: number, to: number): string {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`;
}

function BlockView({ block, inPage, onLine, onBlock }: { block: Block; inPage: boolean; onLine?: (line: number) => void; onBlock: (id: string) => void }) {
  const [from, to] = block.lines;
  return (
    <section className="panel stack" aria-label={`Block at line ${from}`} id={`block-${block.id}`} tabIndex={-1}>
      <div className="bar">
        <Tag tone={TONES[block.status] ?? ""}>
          {SIGNS[block.status]} {block.status}
        </Tag>
        <b>{block.instruction_type ?? block.kind}</b>
        <span className="mono muted">{visible(block.id)}</span>
        {block.language ? <span className="muted">{block.language}</span> : null}
        {onLine === undefined ? (
          <span className="muted">{lineWords(from, to)}</span>
        ) : (
          <button type="button" className="link" onClick={() => onLine(from)}>
            {lineWords(from, to)}
          </button>
        )}
        <span className="muted">{took(block.seconds ?? 0)}</span>
        {block.model ? <Tag tone="accent">{visible(block.model)}</Tag> : null}
      </div>
      <Instruction block={block} onBlock={onBlock} />
      <Variables block={block} onBlock={onBlock} />
      <Outputs of={block.outputs ?? []} folded={inPage} />
      {(block.messages ?? []).map((message, index) => (
        <p key={index} className={`callout ${message.level === "error" ? "bad" : message.level === "warning" ? "warn" : ""}`}>
          <code>{message.code}</code> {visible(message.text)}
        </p>
      ))}
    </section>
  );
}

/** A block's outputs: folded where the page above shows them already, so that none is read twice. */
function Outputs({ of, folded }: { of: NonNullable<Block["outputs"]>; folded: boolean }) {
  const [open, setOpen] = useState(false);
  if (of.length === 0) return null;
  const displays = of.map((output, index) => <DisplayView key={index} display={output} />);
  if (!folded) return displays;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{of.length === 1 ? "Output" : `${of.length} outputs`}</summary>
      {open ? <div className="stack">{displays}</div> : null}
    </details>
  );
}

/** Where each value in a message came from, and whether it was cut. */
function Variables({ block, onBlock }: { block: Block; onBlock: (id: string) => void }) {
  const variables = block.variables ?? [];
  if (variables.length === 0) return null;
  return (
    <SortedTable
      id="variables"
      label={`Variables of the block at line ${block.lines[0]}`}
      columns={[
        { name: "Variable", by: (row) => row.name },
        { name: "Kernel", by: (row) => row.kernel },
        { name: "Type", by: (row) => row.type },
        { name: "Size", num: true, by: (row) => row.bytes },
        "SHA-256",
        "Made by",
      ]}
      items={variables}
      row={(variable) => (
        <tr key={variable.name}>
          <td className="mono">{visible(variable.name)}</td>
          <td>{variable.kernel}</td>
          <td className="mono">{visible(variable.type)}</td>
          <td className="num">
            {bytes(variable.bytes)} {variable.truncated ? <Tag tone="warn">cut</Tag> : null}
          </td>
          <td className="mono muted">{variable.sha256.slice(0, 12)}</td>
          <td>
            {variable.block ? (
              <button type="button" className="link" onClick={() => onBlock(variable.block!)}>
                {variable.block}
              </button>
            ) : (
              <span className="muted">the request</span>
            )}
          </td>
        </tr>
      )}
    />
  );
}
