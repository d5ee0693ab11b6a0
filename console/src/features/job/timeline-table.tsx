import { useMemo } from "react";
import { visible } from "../../shared/code/ansi";
import { took } from "../../shared/values/time";
import type { Bar, Course, Lane } from "./lanes";
import { SortedTable } from "../../shared/tables/sorted-table";

const MOST = 200;

interface Props {
  course: Course;
  turn: number | null;
  onTurn: (turn: number | null) => void;
}

/** The timeline as a table: what each turn's seconds went to. */
export function TimelineTable({ course, turn, onTurn }: Props) {
  const { lanes, bars } = course;
  const shown = useMemo(() => partsOf(bars, Math.min(lanes.length, MOST)), [bars, lanes.length]);
  return (
    <>
      <SortedTable
        id="turns"
        label="Timeline as a table"
        look="wide wrap"
        frame="turns-table"
        columns={["Turn", { name: "Begins", num: true }, { name: "Prepared", num: true }, "Models", "Ran"]}
        items={lanes.slice(0, MOST)}
        row={(lane, place) => (
          <tr key={lane.name} aria-current={lane.turn !== null && lane.turn === turn ? "true" : undefined}>
              <th scope="row">
                <Name lane={lane} turn={turn} onTurn={onTurn} />
              </th>
              <td className="num">{place === 0 ? "0" : `+${took(lane.from)}`}</td>
              <td className="num">{secondsOf(shown[place]!.filter((bar) => bar.tone === "prompt"))}</td>
              <td>{shown[place]!.filter((bar) => bar.provider !== null).map(told).join(" › ")}</td>
              <td>{shown[place]!.filter((bar) => bar.tone === "queue" || bar.tone === "run" || bar.tone === "failed").map(told).join(", ")}</td>
          </tr>
        )}
      />
      {lanes.length > MOST ? <p className="muted">The tab Events has the {lanes.length - MOST} others.</p> : null}
    </>
  );
}

function Name({ lane, turn, onTurn }: { lane: Lane; turn: number | null; onTurn: Props["onTurn"] }) {
  if (lane.turn === null) return <>{lane.name}</>;
  return (
    <button type="button" className="link" aria-pressed={lane.turn === turn} onClick={() => onTurn(lane.turn === turn ? null : lane.turn)}>
      {lane.name}
    </button>
  );
}

/** The bars of each of the first lanes. */
function partsOf(bars: readonly Bar[], lanes: number): Bar[][] {
  const parts = Array.from({ length: lanes }, (): Bar[] => []);
  for (const bar of bars) parts[bar.lane]?.push(bar);
  return parts;
}

function told(bar: Bar): string {
  return visible(`${bar.label} ${took(bar.to - bar.from)}`);
}

function secondsOf(bars: readonly Bar[]): string {
  return bars.length === 0 ? "" : took(bars.reduce((sum, bar) => sum + bar.to - bar.from, 0));
}
