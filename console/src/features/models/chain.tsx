import { ArrowDown, ArrowUp, GripVertical, X, Zap, type LucideIcon } from "lucide-react";
import { useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import type { Link } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Icon } from "../../shared/values/icon";
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

/** Which models are called, in this order: dragged by the handle, or moved by its arrow keys and by the buttons. */
export function Chain({ links, facts, may, onChange, onTry }: Props) {
  const list = useRef<HTMLOListElement>(null);
  const [dragged, setDragged] = useState<number | null>(null);
  const [told, setTold] = useState("");
  // The rows keep their places and change what they show: so the focus and the pointer are not lost with a moved row.
  const move = (from: number, to: number): void => {
    if (to < 0 || to >= links.length || to === from) return;
    onChange(moved(links, from, to));
    setTold(`${nameOf(links[from]!)} moved to ${to + 1} of ${links.length}`);
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
              className="icon-button"
              disabled={!may || links.length < 2}
              aria-label={`Move ${nameOf(link)}: drag, or use the arrow keys`}
              title="Drag, or use the arrow keys"
              style={{ cursor: "grab", touchAction: "none", order: -1, minWidth: 24, minHeight: 24 }}
              onPointerDown={(event) => take(event, index)}
              onKeyDown={(event) => step(event, index)}
            >
              <Icon of={GripVertical} />
            </button>
            <Terms link={link} facts={facts} />
            <span className="spacer" />
            <Small icon={Zap} name={`Test ${nameOf(link)}`} disabled={!may} onClick={() => onTry(link)} />
            <Small icon={ArrowUp} name={`Move ${nameOf(link)} up`} disabled={!may || index === 0} onClick={() => move(index, index - 1)} />
            <Small icon={ArrowDown} name={`Move ${nameOf(link)} down`} disabled={!may || index === links.length - 1} onClick={() => move(index, index + 1)} />
            <Small icon={X} name={`Remove ${nameOf(link)}`} disabled={!may} onClick={() => onChange(links.filter((each) => each !== link))} />
          </li>
        ))}
      </ol>
      <span className="hidden" role="status">
        {told}
      </span>
    </>
  );
}

function Small({ icon, name, disabled, onClick }: { icon: LucideIcon; name: string; disabled: boolean; onClick: () => void }) {
  return (
    <button type="button" className="icon-button" aria-label={name} title={name} disabled={disabled} onClick={onClick}>
      <Icon of={icon} />
    </button>
  );
}

/** With which parameters it is called, what it costs, and until when it is there. */
function Terms({ link, facts }: { link: Link; facts: Facts }) {
  const parameters = parameterWords(link);
  const ends = endsWords(facts, link);
  return (
    <>
      {parameters === "" ? null : <span className="muted">{visible(parameters)}</span>}
      <span className="muted">{priceWords(facts.prices.get(nameOf(link)))}</span>
      {ends === null ? null : <Tag tone={ends.over ? "bad" : "warn"}>{ends.words}</Tag>}
      {facts.configured.get(nameOf(link)) === false ? <Tag>No key: skipped</Tag> : null}
    </>
  );
}
