import type { DocumentResult } from "../api/types";
import { visible } from "../shared/ansi";
import { DownloadFile } from "../shared/blob";
import { Diff } from "../shared/code";
import { Tag } from "../shared/marks";
import { bytes, cost, count } from "../shared/numbers";
import { took } from "../shared/time";
import type { Scrolls } from "../shared/together";
import { SIGNS, TONES } from "./blocks";
import { PageOfDocument } from "./document-page";
import { DisplayView } from "./execute";

type Block = DocumentResult["blocks"][number];

interface Props {
  result: DocumentResult;
  source?: string;
  onLine?: (line: number) => void;
  beside?: Scrolls | null;
}

/** The page, and below it every block: what it rendered, from which variables, and what came of it. */
export function DocumentResultView({ result, source, onLine, beside }: Props) {
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
            <DownloadFile fileId={result.html_file_id} name="document.html" />
          </span>
        </>
      ) : null}
      {result.blocks.map((block) => (
        <BlockView key={block.id} block={block} onLine={onLine} onBlock={onBlock} />
      ))}
    </div>
  );
}

function lineWords(from: number, to: number): string {
  return from === to ? `line ${from}` : `lines ${from} to ${to}`;
}

function BlockView({ block, onLine, onBlock }: { block: Block; onLine?: (line: number) => void; onBlock: (id: string) => void }) {
  const [from, to] = block.lines;
  return (
    <section className="panel stack" aria-label={`Block at line ${from}`} id={`block-${block.id}`} tabIndex={-1}>
      <div className="bar">
        <Tag tone={TONES[block.status] ?? ""}>
          {SIGNS[block.status]} {block.status}
        </Tag>
        <b>{block.instruction_type ?? block.kind}</b>
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
      {block.message_rendered === null || block.message_rendered === undefined ? null : (
        <div>
          <h3>What was sent, beside what was written</h3>
          <Diff before={block.message_original ?? ""} after={block.message_rendered} />
          <Places block={block} onBlock={onBlock} />
        </div>
      )}
      <Variables block={block} onBlock={onBlock} />
      {(block.outputs ?? []).map((output, index) => (
        <DisplayView key={index} display={output} />
      ))}
      {(block.messages ?? []).map((message, index) => (
        <p key={index} className={`callout ${message.level === "error" ? "bad" : message.level === "warning" ? "warn" : ""}`}>
          <code>{message.code}</code> {visible(message.text)}
        </p>
      ))}
    </section>
  );
}

/** The message with each value underlined that the document's code made; the rest are the author's words. */
function Places({ block, onBlock }: { block: Block; onBlock: (id: string) => void }) {
  const spans = (block.message_spans ?? []) as unknown as [number, number, string][];
  if (spans.length === 0) return null;
  const characters = Array.from(block.message_rendered ?? ""); // places are in characters, of which JavaScript counts some twice
  const part = (from: number, to?: number): string => visible(characters.slice(from, to).join(""));
  return (
    <p className="wrapped" aria-label="Where values stand">
      {spans.map(([from, to, name], index) => {
        const variable = (block.variables ?? []).find((each) => each.name === name.split(/[.[ ,]/)[0]);
        const maker = variable?.block;
        return (
          <span key={index}>
            {part(spans[index - 1]?.[1] ?? 0, from)}
            <button type="button" className="value" title={told(name, variable)} disabled={!maker} onClick={() => maker && onBlock(maker)}>
              {part(from, to)}
            </button>
          </span>
        );
      })}
      {part(spans[spans.length - 1]![1])}
    </p>
  );
}

function told(name: string, variable: NonNullable<Block["variables"]>[number] | undefined): string {
  if (variable === undefined) return name;
  const { kernel, type, block, sha256, truncated } = variable;
  const parts = [name, kernel, type, `${bytes(variable.bytes)}${truncated ? ", cut" : ""}`, `SHA-256 ${sha256.slice(0, 12)}`, block ? `made by ${block}` : "given by the request"];
  return visible(parts.join(" · "));
}

/** Where each value in a message came from, and whether it was cut. */
function Variables({ block, onBlock }: { block: Block; onBlock: (id: string) => void }) {
  const variables = block.variables ?? [];
  if (variables.length === 0) return null;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label={`Variables of the block at line ${block.lines[0]}`}>
      <table className="grid-table wide">
        <thead>
          <tr>
            <th>Variable</th>
            <th>Kernel</th>
            <th>Type</th>
            <th className="num">Size</th>
            <th>SHA-256</th>
            <th>Made by</th>
          </tr>
        </thead>
        <tbody>
          {variables.map((variable) => (
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
          ))}
        </tbody>
      </table>
    </div>
  );
}
