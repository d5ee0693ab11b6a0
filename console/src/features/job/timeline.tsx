import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import type { JobEvent } from "../../api/types";
import { took, useNow } from "../../shared/time";
import { barsOf, drawable, moved, zoomed, type Span } from "./bars";

const WIDTH = 1000;
const LEFT = 80;
const LANE = 20;

/**
 * Where the time went, by lane; bars are never too thin to see. A part is chosen by dragging over it, by the wheel (with Ctrl, or once the
 * timeline has the focus: a page that is only scrolled past it must not zoom), and by the keys + - 0 and the arrows.
 */
export function Timeline({ events, ended }: { events: readonly JobEvent[]; ended: boolean }) {
  const now = useNow(ended ? 0 : 500);
  const { bars, total } = useMemo(() => barsOf(events, ended ? null : now), [events, ended, now]);
  const [range, setRange] = useState<Span | null>(null);
  const [drag, setDrag] = useState<Span | null>(null);
  const figure = useRef<HTMLElement>(null);
  const shown: Span = range ?? [0, total];
  const [from, to] = shown;
  const latest = useRef({ shown, total });
  latest.current = { shown, total };
  const empty = bars.length === 0;
  useEffect(() => {
    const element = figure.current;
    // Not by React's onWheel, which cannot keep the page from scrolling.
    const turn = (event: WheelEvent): void => {
      if (!event.ctrlKey && document.activeElement !== element) return;
      event.preventDefault();
      const { shown, total } = latest.current;
      const box = element!.querySelector("svg")!.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * (WIDTH + LEFT + 10) - LEFT) / WIDTH;
      setRange(zoomed(shown, shown[0] + Math.min(Math.max(share, 0), 1) * (shown[1] - shown[0]), event.deltaY < 0 ? 0.8 : 1.25, total));
    };
    element?.addEventListener("wheel", turn, { passive: false });
    return () => element?.removeEventListener("wheel", turn);
  }, [empty]);
  const drawn = useMemo(() => drawable(bars.filter((bar) => bar.to >= from && bar.from <= to), (to - from) / (WIDTH / 2)), [bars, from, to]);
  if (empty) return null;
  const press = (event: KeyboardEvent): void => {
    const middle = (from + to) / 2;
    if (event.key === "+" || event.key === "=") setRange(zoomed(shown, middle, 0.5, total));
    else if (event.key === "-") setRange(zoomed(shown, middle, 2, total));
    else if (event.key === "0") setRange(null);
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && range !== null) setRange(moved(range, event.key === "ArrowLeft" ? -0.25 : 0.25, total));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const lanes = [...new Set(bars.map((bar) => bar.lane))];
  const place = (seconds: number): number => LEFT + (Math.min(Math.max((seconds - from) / (to - from), 0), 1) * WIDTH);
  const pointed = (event: PointerEvent<SVGSVGElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    const across = ((event.clientX - box.left) / box.width) * (WIDTH + LEFT + 10) - LEFT;
    return from + (Math.min(Math.max(across / WIDTH, 0), 1) * (to - from));
  };
  const choose = (): void => {
    if (drag !== null && Math.abs(drag[1] - drag[0]) > (to - from) / 100) setRange([Math.min(...drag), Math.max(...drag)]);
    setDrag(null);
  };
  return (
    <figure ref={figure} className="timeline" tabIndex={0} onKeyDown={press} aria-label="Timeline: plus and minus zoom, arrows move, 0 shows all">
      <svg
        viewBox={`0 0 ${WIDTH + LEFT + 10} ${lanes.length * LANE + 18}`}
        role="img"
        aria-label={`Timeline of ${took(total)}; the tab Events has it as a list`}
        onPointerDown={(event) => setDrag([pointed(event), pointed(event)])}
        onPointerMove={(event) => drag !== null && setDrag([drag[0], pointed(event)])}
        onPointerUp={choose}
        onPointerLeave={choose}
      >
        {drag === null ? null : <rect className="bar-chosen" x={place(Math.min(...drag))} y={0} width={Math.abs(place(drag[1]) - place(drag[0]))} height={lanes.length * LANE} />}
        {lanes.map((lane, index) => (
          <text key={lane} x={0} y={index * LANE + 14} fontSize={12} fill="currentColor">
            {lane}
          </text>
        ))}
        {drawn.map((bar, index) => (
          <rect
            key={index}
            className={`bar-${bar.tone}`}
            x={Math.min(place(bar.from), LEFT + WIDTH - 3)}
            y={lanes.indexOf(bar.lane) * LANE + 3}
            width={Math.max(3, place(bar.to) - place(bar.from))}
            height={LANE - 6}
            rx={2}
          >
            <title>{`${bar.label}: ${took(bar.to - bar.from)}`}</title>
          </rect>
        ))}
        {[0, 0.25, 0.5, 0.75, 1].map((part) => (
          <text key={part} x={LEFT + part * (WIDTH - 4)} y={lanes.length * LANE + 14} fontSize={11} fill="currentColor" textAnchor={part === 0 ? "start" : part === 1 ? "end" : "middle"} opacity={0.75}>
            {from + (to - from) * part === 0 ? "0" : took(from + (to - from) * part)}
          </text>
        ))}
      </svg>
      {range === null ? null : (
        <button type="button" className="link" onClick={() => setRange(null)}>
          Show all {took(total)}
        </button>
      )}
    </figure>
  );
}
