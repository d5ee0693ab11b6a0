import { useCallback, useMemo } from "react";
import type { Evaluation, EvaluationCell } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Rows } from "../../shared/tables/virtual-rows";
import { intervalWords } from "../../shared/values/success";
import { useUrl } from "../../shared/page/url";
import { nextChoice, placeOf } from "./cell-selection";
import { Checkbox } from "../../shared/editing/checkbox";

const [NAME, CELL] = [160, 172];

/** Cases × variants. The first cell that is chosen shows its runs, a second one the difference of the two. */
export function Matrix({ evaluation }: { evaluation: Evaluation }) {
  const [url, change] = useUrl();
  const { cases, variants, cells } = evaluation;
  const byPlace = useMemo(() => new Map(cells.map((cell) => [placeOf(evaluation, cell), cell])), [cells, evaluation]);
  const pick = useCallback(
    (place: string) => {
      if (place.includes(".")) change(nextChoice(url.a, url.b, place));
    },
    [change, url.a, url.b],
  );
  const isWeak = (index: number): boolean => variants.some((_, number) => isFault(byPlace.get(`${index}.${number}`)));
  const shown = cases.map((name, index) => ({ name, index })).filter(({ index }) => url.failing !== "1" || isWeak(index));
  const rowHeight = window.matchMedia("(max-width: 767px)").matches ? 44 : 32;
  const columns = `minmax(${NAME}px, 1fr) repeat(${variants.length}, ${CELL}px)`;
  return (
    <section className="tight" aria-label="Cases and variants">
      <div className="bar">
        <h2>Cases × variants</h2>
        <Checkbox label="Only cases with a failure" checked={url.failing === "1"} onChange={(event) => change({ failing: event.currentTarget.checked ? "1" : null })} />
        <span className="muted">Select one cell to see its runs, two to compare them.</span>
      </div>
      <Rows
        label="Cases"
        items={shown}
        idOf={({ index }) => String(index)}
        columns={columns}
        minWidth={NAME + variants.length * (CELL + 12) + 16}
        height={`min(60vh, ${(shown.length + 1) * rowHeight + 2}px)`}
        titles={["Case", ...variants.map((variant) => variant.name)].map((name) => (
          <span key={name} role="columnheader" title={name}>
            {visible(name)}
          </span>
        ))}
        cells={({ name, index }) => (
          <>
            <span role="rowheader" title={name}>
              {visible(name)}
            </span>
            {variants.map((variant, number) => (
              <span key={variant.name} role="cell">
                <Place place={`${index}.${number}`} cell={byPlace.get(`${index}.${number}`)} name={`${name}, ${variant.name}`} chosen={url.a === `${index}.${number}` ? "a" : url.b === `${index}.${number}` ? "b" : null} />
              </span>
            ))}
          </>
        )}
        onOpen={() => undefined}
        onPick={pick}
      />
    </section>
  );
}

function Place({ place, cell, name, chosen }: { place: string; cell: EvaluationCell | undefined; name: string; chosen: "a" | "b" | null }) {
  if (cell === undefined || cell.runs === 0) return <span className="muted">–</span>;
  const { successes, runs } = cell;
  const [sign, tone] = successes === runs ? ["✓", "good"] : successes === 0 ? ["✗", "bad"] : ["~", "warn"];
  return (
    <button type="button" className={`matrix-cell ${tone}`} data-pick={place} aria-pressed={chosen !== null} title={causes(cell)}>
      {chosen === null ? null : <b>{chosen.toUpperCase()} </b>}
      <span aria-hidden="true">{sign} </span>
      <span className="unseen">{visible(name)}: </span>
      {successes} of {runs}
      <span className="unseen"> succeeded</span> <span className="muted">{runs > 1 ? intervalWords(cell.interval) : ""}</span>
    </button>
  );
}

function causes(cell: EvaluationCell): string {
  return Object.entries(cell.failures)
    .map(([cause, number]) => `${cause} ${number}`)
    .join("\n");
}

function isFault(cell: EvaluationCell | undefined): boolean {
  return cell !== undefined && cell.successes < cell.runs;
}
