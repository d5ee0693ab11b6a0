import { Button, Textarea } from "@mantine/core";
import { useRef, useState } from "react";
import { visible } from "../../shared/code/ansi";
import { Diff } from "../../shared/code/code";
import { acceptable, decided } from "./suggestions";

interface Props {
  draft: string;
  /** The document with the answers in it, as the job gives it back. */
  answered: string;
  onTake: (markdown: string) => void;
}

/** What models answered, as suggestions: accepted, edited first, or rejected, one after the other; the editor has what was decided. */
export function Answers({ draft, answered, onTake }: Props) {
  const [text, setText] = useState(answered);
  const list = useRef<HTMLElement>(null);
  const suggestions = acceptable(text);
  const decide = (index: number, words: string | null): void => {
    const next = decided(text, index, words);
    setText(next);
    onTake(next);
  };
  const next = (index: number): void => {
    const places = list.current?.querySelectorAll<HTMLElement>("[data-answer]") ?? [];
    places[(index + 1) % places.length]?.focus();
  };
  if (suggestions.length === 0 && text === draft) return null;
  return (
    <section className="panel stack" aria-label="Answers" ref={list}>
      <div className="head">
        <h3>{suggestions.length === 1 ? "One answer" : `${suggestions.length} answers`}</h3>
        <span className="spacer" />
        {text === draft ? null : (
          <Button variant="default" onClick={() => onTake(text)}>
            Insert into document
          </Button>
        )}
      </div>
      {suggestions.map((suggestion, index) => (
        <Answer key={`${suggestion.from} ${suggestion.text}`} text={suggestion.text} onDecide={(words) => decide(index, words)} onNext={suggestions.length > 1 ? () => next(index) : undefined} />
      ))}
      {text === draft ? null : <Diff before={draft} after={text} />}
    </section>
  );
}

function Answer({ text, onDecide, onNext }: { text: string; onDecide: (words: string | null) => void; onNext?: () => void }) {
  const [edited, setEdited] = useState<string | null>(null);
  return (
    <div className="callout tight" data-answer tabIndex={-1}>
      {edited === null ? <pre className="wrapped">{visible(text)}</pre> : <Textarea label="Answer" autosize value={edited} onChange={(event) => setEdited(event.currentTarget.value)} />}
      <span className="bar">
        <Button variant="default" onClick={() => onDecide(edited ?? text)}>
          {edited === null ? "Accept" : "Accept as edited"}
        </Button>
        <Button variant="default" onClick={() => setEdited(edited === null ? text : null)}>
          {edited === null ? "Edit" : "Cancel edit"}
        </Button>
        <Button variant="default" onClick={() => onDecide(null)}>
          Reject
        </Button>
        {onNext === undefined ? null : (
          <Button variant="subtle" onClick={onNext}>
            Next
          </Button>
        )}
      </span>
    </div>
  );
}
