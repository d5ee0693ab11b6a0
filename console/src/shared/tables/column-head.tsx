import { ArrowDown, ArrowUp } from "lucide-react";
import { useRef } from "react";
import { Icon } from "../values/icon";
import type { Sort } from "./sorting";

export const [MIN_WIDTH, MAX_WIDTH] = [40, 800];
const STEP = 16;

interface Props {
  name: string;
  sort: Sort | null;
  /** Absent of a column that has no order. */
  onSort?: () => void;
  /** Called with the new width in pixels, or null for the one that the table decides. */
  onWidth?: (width: number | null) => void;
}

/** The name of a column: a click sorts by it, its right edge is dragged to another width; Shift and the arrow keys do so too. */
export function ColumnHead({ name, sort, onSort, onWidth }: Props) {
  const place = useRef<HTMLSpanElement>(null);
  const cell = (): HTMLElement | null => place.current?.closest<HTMLElement>("th, [role=columnheader]") ?? null;
  const press = (event: React.KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? STEP : event.key === "ArrowLeft" ? -STEP : 0;
    const head = cell();
    if (!event.shiftKey || step === 0 || head === null || onWidth === undefined) return;
    event.preventDefault();
    onWidth(within(head.offsetWidth + step));
  };
  return (
    <>
      {onSort === undefined ? (
        name
      ) : (
        <button type="button" title={`Sort by ${name}${onWidth === undefined ? "" : "\nShift + ← → changes the width"}`} onClick={onSort} onKeyDown={press}>
          {name}
          {sort?.name === name ? <Icon of={sort.down ? ArrowDown : ArrowUp} size={14} /> : null}
        </button>
      )}
      <span ref={place} className={onWidth === undefined ? undefined : "resize"} aria-hidden="true" onDoubleClick={() => onWidth?.(null)} onPointerDown={onWidth && ((event) => drag(event, cell(), onWidth))} />
    </>
  );
}

function drag(event: React.PointerEvent<HTMLElement>, head: HTMLElement | null, onWidth: (width: number) => void): void {
  if (head === null || event.button !== 0) return;
  event.preventDefault();
  const handle = event.currentTarget;
  const [from, width] = [event.clientX, head.offsetWidth];
  handle.setPointerCapture(event.pointerId);
  const move = (moved: PointerEvent): void => onWidth(within(width + moved.clientX - from));
  const end = (): void => {
    handle.removeEventListener("pointermove", move);
    handle.removeEventListener("lostpointercapture", end);
  };
  handle.addEventListener("pointermove", move);
  handle.addEventListener("lostpointercapture", end);
}

export function within(width: number): number {
  return Math.round(Math.min(MAX_WIDTH, Math.max(MIN_WIDTH, width)));
}
