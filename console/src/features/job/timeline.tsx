import { useMemo, useState, type KeyboardEvent, type PointerEvent } from "react";
import "./timeline.css";
import type { JobEvent } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useUrl } from "../../shared/page/url";
import { Icon } from "../../shared/values/icon";
import { took, useNow } from "../../shared/values/time";
import { drawingOf, onScale, type Row } from "./bars";
import { TimelineTable } from "./timeline-table";
import { courseOf, type Bar } from "./lanes";
import { fillOf, Legend, Patterns, providersOf } from "./timeline-legend";
import { idleOf, moved, scaleOf, zoomed, type Span } from "./scale";
import { barAt, LANE, pathsOf } from "./shapes";
import { useRange, useWheel, useWidth } from "./range-selection";

/** Where a bar can be distinguished from the next one. */
const APART = 4;
/** Width of the folded strip, in units of its own. */
const STRIP = 1000;

interface Props {
  events: readonly JobEvent[];
  ended: boolean;
  /** Whether the job counts as a failure, though its state may be that it succeeded. */
  failed?: boolean;
  /** The turn that is chosen. */
  turn: number | null;
  onTurn: (turn: number | null) => void;
}

/**
 * Where the time went: the queue, and a lane for each turn; bars are never too thin to see, idle stretches are folded. A part is chosen
 * by dragging over it, by the wheel (with Ctrl, or once the timeline has the focus: a page that is only scrolled past it must not zoom),
 * and by the keys + - 0 and the arrows; a click chooses a turn. On a narrow screen the same is a table.
 */
export function Timeline({ events, ended, failed = false, turn, onTurn }: Props) {
  const now = useNow(ended ? 0 : 500);
  const course = useMemo(() => courseOf(events, ended ? null : now, failed), [events, ended, now, failed]);
  const [open, setOpen] = useState(false);
  const [url, change] = useUrl();
  const unfolded = url.timeline === "1" || url.zoom !== undefined;
  const narrow = window.matchMedia("(max-width: 767px)").matches;
  const table = <TimelineTable course={course} turn={turn} onTurn={onTurn} />;
  if (course.bars.length === 0) return null;
  if (narrow) return table;
  return (
    <div className="tight">
      {ended ? (
        <Folded course={course} unfolded={unfolded} onToggle={() => change({ timeline: unfolded ? null : "1" })} />
      ) : null}
      {ended && !unfolded ? null : <Chart course={course} turn={turn} onTurn={onTurn} />}
      <details hidden={ended && !unfolded} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>Timeline as a table</summary>
        {open ? table : null}
      </details>
    </div>
  );
}

/** The whole course as one strip: once a job has ended, its result matters more. */
function Folded({ course, unfolded, onToggle }: { course: ReturnType<typeof courseOf>; unfolded: boolean; onToggle: () => void }) {
  const providers = providersOf(course.bars);
  return (
    <div className="folded-timeline">
      <button type="button" className="toggle" aria-expanded={unfolded} onClick={onToggle}>
        <Icon of={unfolded ? ChevronDown : ChevronRight} />
        <b>Timeline</b> <span className="muted">{took(course.total)}</span>
      </button>
      {unfolded ? null : (
        <>
          <svg width="100%" height="12" viewBox={`0 0 ${STRIP} 12`} preserveAspectRatio="none" aria-hidden="true">
            <Patterns />
            {course.bars.map((bar, index) => (
              <rect key={index} {...fillOf(bar, providers)} x={(bar.from / course.total) * STRIP} y={0.5} width={Math.max(3, ((bar.to - bar.from) / course.total) * STRIP)} height={11} />
            ))}
          </svg>
          <Legend bars={course.bars} providers={providers} />
        </>
      )}
    </div>
  );
}

function Chart({ course, turn, onTurn }: { course: ReturnType<typeof courseOf> } & Pick<Props, "turn" | "onTurn">) {
  const [range, keepRange] = useRange();
  const [drag, setDrag] = useState<Span | null>(null);
  const [pointedAt, setPointedAt] = useState<Bar | undefined>(undefined);
  const [place, width] = useWidth();
  const scale = useMemo(() => scaleOf(idleOf(course.bars, course.total), course.total), [course]);
  const drawn = useMemo(() => onScale(course, scale), [course, scale]);
  const providers = useMemo(() => providersOf(course.bars), [course]);
  const total = scale.length;
  const setRange = (part: Span | null): void => keepRange(part === null ? null : [scale.real(part[0]), scale.real(part[1])]);
  const shown: Span = range === null ? [0, total] : [scale.drawn(range[0]), scale.drawn(range[1])];
  const [from, to] = shown;
  const figure = useWheel((share, factor) => setRange(zoomed(shown, from + share * (to - from), factor, total)));
  const { rows, bars } = useMemo(() => drawingOf(drawn, [from, to], ((to - from) / width) * APART), [drawn, from, to, width]);
  const x = (seconds: number): number => Math.min(Math.max((seconds - from) / (to - from), 0), 1) * width;
  const height = rows.length * LANE;

  const press = (event: KeyboardEvent): void => {
    const middle = (from + to) / 2;
    if (event.key === "+" || event.key === "=") setRange(zoomed(shown, middle, 0.5, total));
    else if (event.key === "-") setRange(zoomed(shown, middle, 2, total));
    else if (event.key === "0") setRange(null);
    else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && range !== null) setRange(moved(shown, event.key === "ArrowLeft" ? -0.25 : 0.25, total));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pointed = (event: PointerEvent<SVGSVGElement>): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return from + Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1) * (to - from);
  };
  const move = (event: PointerEvent<SVGSVGElement>): void => {
    if (drag !== null) setDrag([drag[0], pointed(event)]);
    const box = event.currentTarget.getBoundingClientRect();
    setPointedAt(barAt(bars, { x, width }, event.clientX - box.left, event.clientY - box.top));
  };
  const choose = (row: Row | undefined): void => {
    if (row === undefined) return;
    if (row.turn !== null) onTurn(row.turn === turn ? null : row.turn);
    else if (row.shared) setRange([row.from, row.to]);
  };
  const release = (event: PointerEvent<SVGSVGElement>): void => {
    if (drag === null) return;
    setDrag(null);
    if (Math.abs(drag[1] - drag[0]) > (to - from) / 100) setRange([Math.min(...drag), Math.max(...drag)]);
    else if (event.type === "pointerup") choose(rows[Math.floor((event.clientY - event.currentTarget.getBoundingClientRect().top) / LANE)]);
  };
  return (
    <figure ref={figure} className="timeline course" tabIndex={0} onKeyDown={press} aria-label="Timeline: plus and minus zoom, arrows move, 0 shows all">
      <div className="chart">
        <div className="turns" role="group" aria-label="Turns of the timeline">
          {rows.map((row) =>
            row.turn === null && !row.shared ? (
              <span key={row.name}>{row.name}</span>
            ) : (
              <button key={row.name} type="button" aria-pressed={row.turn === null ? undefined : row.turn === turn} onClick={() => choose(row)}>
                {row.name}
              </button>
            ),
          )}
        </div>
        <svg
          ref={place}
          className="lanes"
          height={height + 18}
          viewBox={`0 0 ${width} ${height + 18}`}
          role="img"
          aria-label={`Timeline of ${took(course.total)}; the table below has the same`}
          onPointerDown={(event) => setDrag([pointed(event), pointed(event)])}
          onPointerMove={move}
          onPointerUp={release}
          onPointerLeave={release}
        >
          <title>{pointedAt === undefined ? "" : visible(`${pointedAt.label}: ${took(scale.real(pointedAt.to) - scale.real(pointedAt.from))}`)}</title>
          <Patterns />
          {rows.map((row, index) => (row.turn !== null && row.turn === turn ? <rect key={row.name} className="lane-chosen" x={0} y={index * LANE} width={width} height={LANE} /> : null))}
          {drag === null ? null : <rect className="bar-chosen" x={x(Math.min(...drag))} y={0} width={Math.abs(x(drag[1]) - x(drag[0]))} height={height} />}
          {pathsOf(bars, { x, width }).map(({ bar, path }) => (
            <path key={`${bar.tone} ${bar.provider}`} {...fillOf(bar, providers)} data-tone={bar.tone} d={path} />
          ))}
          {scale.folds.map(({ real, drawn: [start, end] }) =>
            end < from || start > to ? null : (
              <g key={start}>
                <rect className="fold" x={x(start)} y={1} width={x(end) - x(start)} height={height - 2} strokeDasharray="3 3">
                  <title>{`Nothing ran for ${took(real[1] - real[0])}: folded`}</title>
                </rect>
                <text x={(x(start) + x(end)) / 2} y={16} textAnchor="middle">
                  {took(real[1] - real[0])}
                </text>
              </g>
            ),
          )}
          {[0, 0.25, 0.5, 0.75, 1].map((part) => (
            <text key={part} x={part * width} y={height + 14} textAnchor={part === 0 ? "start" : part === 1 ? "end" : "middle"} opacity={0.8}>
              {from + (to - from) * part === 0 ? "0" : took(scale.real(from + (to - from) * part))}
            </text>
          ))}
        </svg>
      </div>
      <Legend bars={course.bars} providers={providers} />
      {range === null ? null : (
        <button type="button" className="link" onClick={() => setRange(null)}>
          Show all {took(course.total)}
        </button>
      )}
    </figure>
  );
}
