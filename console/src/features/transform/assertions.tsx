import { Button, TextInput } from "@mantine/core";
import { useState } from "react";
import { visible } from "../../shared/code/ansi";
import type { Draft } from "./draft";

type Check = { text: string; holds: boolean; detail: string };

interface Props {
  draft: Draft;
  change: (change: (now: Draft) => Draft) => void;
  checks: readonly Check[];
  error: string | undefined;
}

/** What must hold of every result: a list next to the task, with marks of the last run. */
export function AssertionPart({ draft, change, checks, error }: Props) {
  const [text, setText] = useState("");
  const add = (): void => {
    if (text.trim() === "") return;
    change((now) => ({ ...now, assertions: [...new Set([...now.assertions, text.trim()])] }));
    setText("");
  };
  const columns = [...new Set(draft.data.flatMap((data) => data.head?.columns ?? []))];
  const offers = ["rows == 1", "rows unchanged", ...columns.flatMap((name) => [`no_nulls(${name})`, `unique(${name})`, `sum(${name}) unchanged`, `columns contain ${name}`])];
  return (
    <section className="tight" aria-label="Assertions">
      <h3>Checks</h3>
      {draft.assertions.map((assertion) => {
        const check = checks.find((each) => each.text === assertion);
        return (
          <div key={assertion} className={`check ${check === undefined ? "" : check.holds ? "good" : "bad"}`}>
            <span aria-label={check === undefined ? "not tried yet" : check.holds ? "holds" : "does not hold"}>{check === undefined ? "○" : check.holds ? "✓" : "✗"}</span>
            <code>{visible(assertion)}</code>
            {check === undefined ? null : <span className="muted">{visible(check.detail)}</span>}
            <span className="spacer" />
            <button type="button" className="link" aria-label={`Remove ${assertion}`} onClick={() => change((now) => ({ ...now, assertions: now.assertions.filter((each) => each !== assertion) }))}>
              Remove
            </button>
          </div>
        );
      })}
      <form
        className="bar"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <TextInput aria-label="New assertion" error={error} placeholder="rows == 12, unique(id), sum(amount) unchanged" list="assertions" value={text} onChange={(event) => setText(event.currentTarget.value)} style={{ flex: 1 }} classNames={{ input: "mono" }} />
        <Button type="submit" variant="default">
          Add
        </Button>
        <datalist id="assertions">
          {offers.map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
      </form>
    </section>
  );
}
