import { useQuery } from "@tanstack/react-query";
import { blobOf } from "../api/client";
import type { DocumentResult } from "../api/types";
import { visible } from "../shared/ansi";
import { Diff } from "../shared/code";
import { SafeHtml } from "../shared/html";
import { Tag } from "../shared/marks";
import { bytes, cost, count } from "../shared/numbers";
import { Loaded } from "../shared/states";
import { took } from "../shared/time";
import { SIGNS, TONES } from "./blocks";
import { DisplayView } from "./execute";

type Block = DocumentResult["blocks"][number];

interface Props {
  result: DocumentResult;
  onLine?: (line: number) => void;
}

/** The page, and below it every block: what it rendered, from which variables, and what came of it. */
export function DocumentResultView({ result, onLine }: Props) {
  return (
    <div className="stack">
      {result.estimate ? (
        <p className="callout">
          A dry run: {result.estimate.calls} model calls, about {count(result.estimate.input_tokens)} tokens in and {count(result.estimate.output_tokens ?? 0)} out, {cost(result.estimate.cost_usd)}.
        </p>
      ) : null}
      {result.warnings.map((warning) => (
        <p key={warning} className="callout warn">
          {visible(warning)}
        </p>
      ))}
      {result.html_file_id ? <PageOfDocument fileId={result.html_file_id} /> : null}
      {result.blocks.map((block) => (
        <BlockView key={block.id} block={block} onLine={onLine} />
      ))}
    </div>
  );
}

function PageOfDocument({ fileId }: { fileId: string }) {
  const query = useQuery({ queryKey: ["html", fileId], queryFn: async () => (await blobOf(fileId)).text(), staleTime: Infinity });
  return <Loaded query={query}>{(html) => <SafeHtml html={html} title="The document as a page" height={520} />}</Loaded>;
}

function BlockView({ block, onLine }: { block: Block; onLine?: (line: number) => void }) {
  const [from, to] = block.lines;
  return (
    <section className="panel stack" aria-label={`Block at line ${from}`}>
      <div className="bar">
        <Tag tone={TONES[block.status] ?? ""}>
          {SIGNS[block.status]} {block.status}
        </Tag>
        <b>{block.instruction_type ?? block.kind}</b>
        {block.language ? <span className="muted">{block.language}</span> : null}
        {onLine === undefined ? (
          <span className="muted">
            lines {from} to {to}
          </span>
        ) : (
          <button type="button" className="link" onClick={() => onLine(from)}>
            lines {from} to {to}
          </button>
        )}
        <span className="muted">{took(block.seconds ?? 0)}</span>
        {block.model ? <Tag tone="accent">{visible(block.model)}</Tag> : null}
      </div>
      {block.message_rendered === null || block.message_rendered === undefined ? null : (
        <div>
          <h3>What was sent, beside what was written</h3>
          <Diff before={block.message_original ?? ""} after={block.message_rendered} />
          <Places text={block.message_rendered} spans={block.message_spans ?? []} />
        </div>
      )}
      <Variables block={block} />
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

/** The message with a mark on each value that the document's code made; the rest are the author's words. */
function Places({ text, spans }: { text: string; spans: readonly unknown[][] }) {
  const characters = Array.from(text); // places are in characters, of which JavaScript counts some twice
  const part = (from: number, to?: number): string => visible(characters.slice(from, to).join(""));
  if (spans.length === 0) return null;
  const starts = spans as [number, number, string][];
  return (
    <p className="wrapped" aria-label="Where values stand">
      {starts.map(([from, to, name], index) => (
        <span key={index}>
          {part(starts[index - 1]?.[1] ?? 0, from)}
          <mark title={name}>{part(from, to)}</mark>
        </span>
      ))}
      {part(starts[starts.length - 1]![1])}
    </p>
  );
}

/** Where each value in a message came from, and whether it was cut. */
function Variables({ block }: { block: Block }) {
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
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
