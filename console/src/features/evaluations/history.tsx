import { SegmentedControl } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { EvaluationSummary } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { intervalWords } from "../../shared/values/success";
import { useUrl } from "../../shared/page/url";
import { series, type Point, type Series } from "./series";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [900, 200, 36, 10, 26];
const COLOURS = ["var(--accent)", "var(--good)", "var(--warn)", "var(--bad)", "var(--text-3)"];
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];

/** Success of a suite, evaluation by evaluation or prompt version by version, a line for each variant. */
export function History({ items }: { items: readonly EvaluationSummary[] }) {
  const [url, change] = useUrl();
  const by = url.by === "prompt" ? "prompt" : "time";
  const lines = series(items, by);
  return (
    <figure className="panel tight chart" aria-label="Success over time; the table has the numbers">
      <span className="bar">
        <b>Success</b>
        <SegmentedControl aria-label="Along" size="xs" data={[{ value: "time", label: "over time" }, { value: "prompt", label: "by prompt version" }]} value={by} onChange={(value) => change({ by: value })} />
      </span>
      {lines.length === 0 ? <span className="muted">{by === "prompt" ? "No variant of this suite has a fixed prompt version." : "No finished runs yet."}</span> : <Picture lines={lines} />}
    </figure>
  );
}

function Picture({ lines }: { lines: readonly Series[] }) {
  const places = [...new Map(lines.flatMap((line) => line.points.map((point) => [point.place, point.label]))).entries()].sort(([one], [other]) => one - other);
  const x = (place: number): number => {
    const at = places.findIndex(([each]) => each === place);
    return LEFT + 20 + ((WIDTH - LEFT - 40) * at) / Math.max(1, places.length - 1);
  };
  const y = (share: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
  const step = Math.ceil(places.length / 10);
  return (
    <>
      <div className="timeline">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} className="history" role="group" aria-label="Success with its interval">
          {[0, 0.5, 1].map((share) => (
            <g key={share}>
              <line x1={LEFT} x2={WIDTH} y1={y(share)} y2={y(share)} stroke="var(--line)" />
              <text x={LEFT - 6} y={y(share) + 4} textAnchor="end">
                {share}
              </text>
            </g>
          ))}
          {places.map(([place, label], index) =>
            index % step === 0 ? (
              <text key={place} x={x(place)} y={HEIGHT - 8} textAnchor="middle">
                {label}
              </text>
            ) : null,
          )}
          {lines.map((line, index) => (
            <Line key={line.name} line={line} x={x} y={y} shift={(index - (lines.length - 1) / 2) * 5} look={index} />
          ))}
        </svg>
      </div>
      <span className="bar">
        {lines.map((line, index) => (
          <span key={line.name} className="bar">
            <svg width="26" height="10" aria-hidden="true">
              <line x1="0" x2="26" y1="5" y2="5" strokeWidth="2" stroke={COLOURS[index % COLOURS.length]} strokeDasharray={DASHES[index % DASHES.length]} />
            </svg>
            {visible(line.name)}
          </span>
        ))}
      </span>
    </>
  );
}

function Line({ line, x, y, shift, look }: { line: Series; x: (place: number) => number; y: (share: number) => number; shift: number; look: number }) {
  const colour = COLOURS[look % COLOURS.length]!;
  const path = line.points.map((point, index) => `${index === 0 ? "M" : "L"}${x(point.place) + shift} ${y(point.share)}`).join(" ");
  return (
    <g stroke={colour} fill={colour}>
      <path d={path} fill="none" strokeWidth="2" strokeDasharray={DASHES[look % DASHES.length]} />
      {line.points.map((point) => (
        <PointMark key={`${point.id} ${point.place}`} point={point} name={line.name} at={x(point.place) + shift} y={y} />
      ))}
    </g>
  );
}

function PointMark({ point, name, at, y }: { point: Point; name: string; at: number; y: (share: number) => number }) {
  const words = `${name}, ${point.label}: ${point.share.toFixed(2)} ${intervalWords(point.interval)} of ${point.runs} runs`;
  return (
    <Link to="/evaluations/$id" params={{ id: point.id }} aria-label={words}>
      <title>{words}</title>
      <line x1={at} x2={at} y1={y(point.interval[0])} y2={y(point.interval[1])} strokeWidth="1.5" />
      <circle cx={at} cy={y(point.share)} r="4.5" />
      <circle cx={at} cy={y(point.share)} r="12" fillOpacity="0" strokeOpacity="0" />
    </Link>
  );
}
