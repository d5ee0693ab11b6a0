import { memo, useMemo, useState, type RefObject } from "react";
import { visible } from "../../shared/code/ansi";
import { count } from "../../shared/values/numbers";
import type { outline } from "./canvas/outline";

const MAX_LINES = 500;

interface Props {
  lines: ReturnType<typeof outline>;
  field: RefObject<HTMLInputElement | null>;
  onShow: (id: string) => void;
}

/** The name itself before what begins with the words, what holds them, and what leads to such a node. */
function rankOf(text: string, words: string): number | null {
  const [name = ""] = text.split(" › ");
  return name === words ? 0 : name.startsWith(words) ? 1 : name.includes(words) ? 2 : text.includes(words) ? 3 : null;
}

/** The flow as text, to be searched: the canvas' twin for who does not see it. A line leads to its node. */
export const Outline = memo(function Outline({ lines, field, onShow }: Props) {
  const [wanted, setWanted] = useState("");
  const found = useMemo(() => {
    const words = wanted.trim().toLowerCase();
    if (words === "") return lines;
    const ranked = lines.flatMap((line) => {
      const rank = rankOf(line.text.toLowerCase(), words);
      return rank === null ? [] : [{ line, rank }];
    });
    return ranked.sort((a, b) => a.rank - b.rank).map(({ line }) => line);
  }, [lines, wanted]);
  return (
    <section className="stack" aria-label="Outline">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (found[0] !== undefined) onShow(found[0].id);
        }}
      >
        <input ref={field} className="plain-input find-node" data-filter type="search" aria-label="Find a node" placeholder="Find a node (Ctrl F), Enter shows it" value={wanted} onChange={(event) => setWanted(event.currentTarget.value)} />
      </form>
      {found.length === 0 ? <p className="muted">{lines.length === 0 ? "No nodes yet." : "No node has these words."}</p> : null}
      <ol className="outline-lines">
        {found.slice(0, MAX_LINES).map((line) => (
          <li key={line.id}>
            <button type="button" className="outline-line" onClick={() => onShow(line.id)}>
              {visible(line.text)}
            </button>
          </li>
        ))}
      </ol>
      {found.length > MAX_LINES ? <p className="muted">And {count(found.length - MAX_LINES)} more: search for them.</p> : null}
    </section>
  );
});
