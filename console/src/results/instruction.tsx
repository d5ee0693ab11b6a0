import type { DocumentResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { bytes } from "../shared/values/numbers";

type Block = DocumentResult["blocks"][number];

/** Of an instruction: what is written, the same with its values, and what the model answered, side by side. */
export function Instruction({ block, onBlock }: { block: Block; onBlock: (id: string) => void }) {
  const answers = block.answers ?? [];
  const rendered = block.message_rendered ?? null;
  if (rendered === null && answers.length === 0) return null;
  return (
    <div className="beside">
      <section className="tight" aria-label="Template">
        <h3>Template</h3>
        <p className="wrapped">{visible(block.message_original ?? "")}</p>
      </section>
      {rendered === null || rendered === block.message_original ? null : (
        <section className="tight" aria-label="With its values">
          <h3>With its values</h3>
          <Places block={block} onBlock={onBlock} />
        </section>
      )}
      {answers.map((answer, index) => (
        <section key={index} className="tight" aria-label="The answer">
          <h3>{answers.length === 1 ? "The answer" : `Answer ${index + 1}`}</h3>
          <p className="wrapped">{visible(answer)}</p>
        </section>
      ))}
    </div>
  );
}

/** The message with each value underlined that the document's code made; the rest are the author's words. */
function Places({ block, onBlock }: { block: Block; onBlock: (id: string) => void }) {
  const spans = (block.message_spans ?? []) as unknown as [number, number, string][];
  const characters = Array.from(block.message_rendered ?? ""); // places are in characters, of which JavaScript counts some twice
  const part = (from: number, to?: number): string => visible(characters.slice(from, to).join(""));
  return (
    <p className="wrapped" aria-label="Positions of values">
      {spans.map(([from, to, name], index) => {
        const variable = (block.variables ?? []).find((each) => each.name === name.split(/[.[ ,]/)[0]);
        return (
          <span key={index}>
            {part(spans[index - 1]?.[1] ?? 0, from)}
            <Value text={part(from, to)} title={told(name, variable)} onClick={variable?.block ? () => onBlock(variable.block!) : undefined} />
          </span>
        );
      })}
      {part(spans.at(-1)?.[1] ?? 0)}
    </p>
  );
}

/** Not a `button`: one with several lines would be a box in the middle of the sentence. */
function Value({ text, title, onClick }: { text: string; title: string; onClick: (() => void) | undefined }) {
  if (onClick === undefined)
    return (
      <span className="value idle" title={title}>
        {text}
      </span>
    );
  return (
    <span
      role="button"
      tabIndex={0}
      className="value"
      title={title}
      onClick={onClick}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onClick();
      }}
    >
      {text}
    </span>
  );
}

function told(name: string, variable: NonNullable<Block["variables"]>[number] | undefined): string {
  if (variable === undefined) return name;
  const { kernel, type, block, sha256, truncated } = variable;
  const parts = [name, kernel, type, `${bytes(variable.bytes)}${truncated ? ", cut" : ""}`, `SHA-256 ${sha256.slice(0, 12)}`, block ? `made by ${block}` : "given by the request"];
  return visible(parts.join(" · "));
}
