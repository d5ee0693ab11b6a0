import { Fragment } from "react";
import { Tag } from "../shared/values/marks";
import { placeOf, type ValueFacts } from "./value-facts";

const WIDTH = 340;
const GAP = 6; // between the value and the panel, less than a pointer needs time for

/** Position of a value in its frame, in pixels. */
export interface Place {
  left: number;
  top: number;
  bottom: number;
  frame: { width: number; height: number };
}

/** The place of an element, as far as it is in sight; null where it is scrolled away. */
export function placeIn(element: HTMLElement): Place | null {
  const view = element.ownerDocument.defaultView;
  const first = element.getClientRects()[0];
  if (view === null || first === undefined) return null;
  const { left, top, bottom } = first;
  return bottom < 0 || top > view.innerHeight ? null : { left, top, bottom, frame: { width: view.innerWidth, height: view.innerHeight } };
}

interface Props {
  facts: ValueFacts;
  place: Place;
  onBlock: (id: string) => void;
  onEnter: () => void;
  onLeave: () => void;
}

/** Next to a value of the page: what it is, and ways to its line and to the block that made it. */
export function ValuePanel({ facts: { name, facts, cut, block, maker }, place, onBlock, onEnter, onLeave }: Props) {
  const { left, top, bottom, frame } = place;
  const below = bottom < frame.height / 2;
  const style = { left: Math.max(8, Math.min(left, frame.width - WIDTH - 8)), maxWidth: WIDTH, ...(below ? { top: bottom + GAP } : { bottom: frame.height - top + GAP }) };
  const way = (to: ValueFacts["block"]) => (
    <button type="button" className="link" onClick={() => onBlock(to.id)}>
      {placeOf(to)}
    </button>
  );
  return (
    <div className="panel told" style={style} onPointerEnter={onEnter} onPointerLeave={onLeave}>
      <b className="mono wrapped">{name}</b>
      <dl className="facts">
        {facts.map(([label, text]) => (
          <Fragment key={label}>
            <dt>{label}</dt>
            <dd className="mono">
              {text} {label === "Size" && cut ? <Tag tone="warn">Truncated</Tag> : null}
            </dd>
          </Fragment>
        ))}
        <dt>Made by</dt>
        <dd>{way(maker)}</dd>
        {maker === block ? null : (
          <>
            <dt>Appears in</dt>
            <dd>{way(block)}</dd>
          </>
        )}
      </dl>
    </div>
  );
}
