import { useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import type { Link } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { moved, placeAt } from "./reorder";
import { endsWords, nameOf, parameterWords, priceWords, type Facts } from "./facts";

interface Props {
  links: readonly Link[];
  facts: Facts;
  may: boolean;
  onChange: (links: Link[]) => void;
  onTry: (link: Link) => void;
}

/** Who is asked, in this order: dragged by the handle, or moved by its arrow keys and by the buttons. */
export function Chain({ links, facts, may, onChange, onTry }: Props) {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [told, setTold] = useState("");
  // The rows keep their places and change what they show: so the focus and the pointer are not lost with a moved row.
  const move = (from: number, to: number): void => {
    if (to < 0 || to >= links.length || to === from) return;
    onChange(moved(links, from, to));
    setTold(`${nameOf(links[from]!)} is asked as number ${to + 1} of ${links.length}`);
  };
  const take = (event: PointerEvent, index: number): void => {
    list.current?.setPointerCapture(event.pointerId);
    setDragged(index);
  };
  const drag = (event: PointerEvent): void => {
    if (dragged === null) return;
    const to = placeAt([...event.currentTarget.children].map((row) => row.getBoundingClientRect()), event.clientY);
    move(dragged, to);
    setDragged(to);
  };
  const step = (event: KeyboardEvent, index: number): void => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (by === 0) return;
    event.preventDefault();
    move(index, index + by);
    list.current?.children[index + by]?.querySelector<HTMLElement>("[data-handle]")?.focus();
  };
  return (
    <>
      <ol ref={list} className="tight plain-list" style={{ maxHeight: "none" }} onPointerMove={drag} onPointerUp={() => setDragged(null)} onPointerCancel={() => setDragged(null)}>
        {links.map((link, index) => (
          <li key={index} className="bar" style={dragged === index ? { outline: "1px solid var(--accent)" } : undefined}>
            <span className="muted">{index + 1}</span>
            <b className="mono">{visible(nameOf(link))}</b>
            <button
              type="button"
              data-handle
              className="link"
              disabled={!may || links.length < 2}
              aria-label={`Move ${nameOf(link)}: drag, or the arrows up and down`}
              title="Drag, or use the arrow keys"
              style={{ cursor: "grab", touchAction: "none", order: -1, minWidth: 24, minHeight: 24 }}
              onPointerDown={(event) => take(event, index)}
              onKeyDown={(event) => step(event, index)}
            >
              <svg width="10" height="14" viewBox="0 0 10 14" aria-hidden="true" fill="currentColor">
                {[2, 7, 12].flatMap((y) => [2, 8].map((x) => <circle key={`${x} ${y}`} cx={x} cy={y} r="1.4" />))}
              </svg>
            </button>
            <Terms link={link} facts={facts} />
            <span className="spacer" />
            <button type="button" className="link" disabled={!may} aria-label={`try ${nameOf(link)}`} title="A small question to it, saved or not" onClick={() => onTry(link)}>
              try
            </button>
            <button type="button" className="link" disabled={!may || index === 0} aria-label={`Ask ${link.provider} earlier`} onClick={() => move(index, index - 1)}>
              up
            </button>
            <button type="button" className="link" disabled={!may || index === links.length - 1} aria-label={`Ask ${link.provider} later`} onClick={() => move(index, index + 1)}>
              down
            </button>
            <button type="button" className="link" disabled={!may} aria-label={`Remove ${nameOf(link)}`} onClick={() => onChange(links.filter((each) => each !== link))}>
              remove
            </button>
          </li>
        ))}
      </ol>
      <span className="hidden" role="status">
        {told}
      </span>
    </>
  );
}

/** With which parameters it is asked, what it costs, and until when it is there. */
function Terms({ link, facts }: { link: Link; facts: Facts }) {
  const parameters = parameterWords(link);
  const ends = endsWords(facts, link);
  return (
    <>
      {parameters === "" ? null : <span className="muted">{visible(parameters)}</span>}
      <span className="muted">{priceWords(facts.prices.get(nameOf(link)))}</span>
      {ends === null ? null : <Tag tone={ends.over ? "bad" : "warn"}>{ends.words}</Tag>}
      {facts.configured.get(nameOf(link)) === false ? <Tag>no key: passed over</Tag> : null}
    </>
  );
}
