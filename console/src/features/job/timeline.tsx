import { useMemo, useState, type PointerEvent } from "react";
import type { JobEvent } from "../../api/types";
import { took, useNow } from "../../shared/time";

export interface Bar {
  lane: string;
  label: string;
  tone: string;
  from: number;
  to: number;
}

const WIDTH = 1000;
const LEFT = 80;
const LANE = 20;

/** Where the time went, by lane; bars are never too thin to see. A part is chosen by dragging over it, and left again by a button. */
export function Timeline({ events, ended }: { events: readonly JobEvent[]; ended: boolean }) {
  const now = useNow(ended ? 0 : 500);
  const { bars, total } = useMemo(() => barsOf(events, ended ? null : now), [events, ended, now]);
  const [range, setRange] = useState<readonly [number, number] | null>(null);
  const [drag, setDrag] = useState<readonly [number, number] | null>(null);
  if (bars.length === 0) return null;
  const lanes = [...new Set(bars.map((bar) => bar.lane))];
  const [from, to] = range ?? [0, total];
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
    <figure className="timeline" tabIndex={0}>
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
        {bars.filter((bar) => bar.to >= from && bar.from <= to).map((bar, index) => (
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
            {took(from + (to - from) * part)}
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

/** Bars in seconds since the first event; `now` (milliseconds) lets the last one grow. */
export function barsOf(events: readonly JobEvent[], now: number | null): { bars: Bar[]; total: number } {
  const first = events[0];
  if (first === undefined) return { bars: [], total: 0 };
  const began = Date.parse(first.at);
  const at = (event: JobEvent): number => (Date.parse(event.at) - began) / 1000;
  const total = Math.max(0.001, now === null ? at(events.at(-1)!) : (now - began) / 1000);
  const bars: Bar[] = [];
  const started = events.find((event) => event.type === "job_started");
  bars.push({ lane: "queue", label: "waited", tone: "queue", from: 0, to: started === undefined ? total : at(started) });
  if (started === undefined) return { bars, total };
  for (const event of events) {
    const to = at(event);
    if (event.type === "llm_call") {
      const tone = event.outcome === "ok" ? "ok" : "fault";
      bars.push({ lane: "models", label: `${String(event.provider)} ${String(event.outcome)}`, tone, from: Math.max(0, to - Number(event.seconds ?? 0)), to });
    } else if (event.type === "turn_taken") {
      const outcome = (event.outcome ?? {}) as { outcome?: string; seconds?: number };
      if (outcome.outcome === "done") continue;
      const tone = outcome.outcome === undefined || outcome.outcome === "result" ? "ok" : "fault";
      const asked = bars.filter((bar) => bar.lane === "models").at(-1)?.to ?? at(started);
      bars.push({ lane: "runs", label: `turn ${String(event.number)} ${outcome.outcome ?? ""}`, tone, from: Math.min(asked, to), to });
    }
  }
  if (bars.length === 1) bars.push({ lane: "runs", label: "ran", tone: "ok", from: at(started), to: total });
  return { bars, total };
}
