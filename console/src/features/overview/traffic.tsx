import { useLayoutEffect, useRef, useState } from "react";
import { count } from "../../shared/values/numbers";
import { SortedTable } from "../../shared/tables/sorted-table";
import { reasonWords, type BarOfTime, type Period } from "./period";

const HEIGHT = 130;
const LEFT = 34;
/** A page that is left has no width for a moment. */
const MIN_PLOT = 120;

interface Props {
  period: Period;
  bars: readonly BarOfTime[];
}

/** Jobs over time, failures on top; the same as a table for who does not see it. */
export function Traffic({ period, bars }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(900);
  useLayoutEffect(() => {
    const box = place.current;
    if (box === null) return undefined;
    const watch = new ResizeObserver(() => setWidth(Math.max(MIN_PLOT, box.clientWidth)));
    watch.observe(box);
    return () => watch.disconnect();
  }, []);
  const total = (bar: BarOfTime): number => bar.done + bar.open + bar.failed + bar.other;
  const peak = bars.reduce((most, bar) => (total(bar) > total(most) ? bar : most), bars[0]!);
  const top = niceTop(total(peak));
  const step = (width - LEFT) / bars.length;
  const y = (value: number): number => HEIGHT - (value / top) * (HEIGHT - 10);
  const named = Math.ceil(bars.length / Math.max(2, Math.floor((width - LEFT) / 110)));
  const all = (of: (bar: BarOfTime) => number): string => count(bars.reduce((sum, bar) => sum + of(bar), 0));
  const label = `${period.title}, last ${period.words}: ${all(total)} jobs, ${all((bar) => bar.failed)} failed, peak ${count(total(peak))} at ${timeOf(peak.at, period)}`;
  return (
    <section aria-label={period.title}>
      <div className="sec">
        <h2>{period.title}</h2>
        <span className="spacer" />
        <span className="legend">
          <span>
            <i style={{ background: "var(--c-rest)" }} />
            Done {all((bar) => bar.done)}
          </span>
          <span>
            <i style={{ background: "var(--warn-mark)" }} />
            Unverified {all((bar) => bar.open)}
          </span>
          <span>
            <i style={{ background: "var(--bad-mark)" }} />
            Failed {all((bar) => bar.failed)}
          </span>
          <span title="Queued, running, canceled, or waiting for an answer">
            <i style={{ background: "var(--accent)" }} />
            Other {all((bar) => bar.other)}
          </span>
        </span>
      </div>
      <div ref={place}>
        <svg className="plot" viewBox={`0 0 ${width} ${HEIGHT + 20}`} role="img" aria-label={label}>
          {[0, top / 2, top].map((value) => (
            <g key={value}>
              <line x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
              <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
                {value}
              </text>
            </g>
          ))}
          {bars.map((bar, index) => {
            const x = LEFT + index * step + step * 0.15;
            let base = HEIGHT;
            return (
              <g key={bar.at}>
                <title>{wordsOf(bar, period)}</title>
                <rect x={LEFT + index * step} y={0} width={step} height={HEIGHT} fill="transparent" />
                {(["done", "other", "open", "failed"] as const).map((part) => {
                  if (bar[part] === 0) return null;
                  const high = Math.max(2, (bar[part] / top) * (HEIGHT - 10));
                  base -= high;
                  return <rect key={part} x={x} y={base} width={step * 0.7} height={Math.max(1, high - (part === "done" ? 0 : 1))} fill={COLORS[part]} opacity={part === "done" ? 0.75 : 1} />;
                })}
                {index % named === 0 ? (
                  <text x={x + step * 0.35} y={HEIGHT + 16} textAnchor="middle">
                    {timeOf(bar.at, period)}
                  </text>
                ) : null}
              </g>
            );
          })}
        </svg>
      </div>
      <TrafficTable period={period} bars={bars} />
    </section>
  );
}

function wordsOf(bar: BarOfTime, period: Period): string {
  const why = bar.failed > 0 ? ` (${reasonWords(bar.reasons)})` : "";
  return `${timeOf(bar.at, period)}: ${count(bar.done)} done, ${count(bar.open)} unverified, ${count(bar.failed)} failed${why}, ${count(bar.other)} other`;
}

/** The same as the bars, for who does not see them, and the reasons of each. */
function TrafficTable({ period, bars }: Props) {
  return (
    <details>
      <summary>View as table</summary>
      <SortedTable
        id="traffic"
        label={`${period.title}, as a table`}
        columns={[
          { name: "Time", by: (bar) => bar.at },
          { name: "Done", num: true, by: (bar) => bar.done },
          { name: "Unverified", num: true, by: (bar) => bar.open },
          { name: "Failed", num: true, by: (bar) => bar.failed },
          { name: "Other", num: true, by: (bar) => bar.other },
          "Reasons",
        ]}
        items={bars.filter((bar) => bar.done + bar.open + bar.failed + bar.other > 0)}
        empty={<span className="muted">No jobs in this period.</span>}
        row={(bar) => (
          <tr key={bar.at}>
            <td className="mono">{timeOf(bar.at, period)}</td>
            <td className="num">{count(bar.done)}</td>
            <td className="num">{count(bar.open)}</td>
            <td className={`num ${bar.failed > 0 ? "bad bold" : ""}`}>{count(bar.failed)}</td>
            <td className="num">{count(bar.other)}</td>
            <td>{bar.failed > 0 ? reasonWords(bar.reasons) : "–"}</td>
          </tr>
        )}
      />
    </details>
  );
}

const COLORS = { other: "var(--accent)", done: "var(--c-rest)", open: "var(--warn-mark)", failed: "var(--bad-mark)" } as const;

function timeOf(at: number, { bucket }: Period): string {
  const moment = new Date(at);
  return bucket === "day" ? moment.toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" }) : moment.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}

/** The next number above that can be halved and read: 2, 4, 10, 20, 40, 100... */
export function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 4, 10].map((factor) => Math.max(2, factor * power)).find((each) => each >= value) ?? 10 * power;
}
