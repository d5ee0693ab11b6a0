import type { components } from "../../api/schema";
import { cost, count } from "../../shared/values/numbers";

type Stats = components["schemas"]["Stats"];

const WORDS = [
  { source: "live", word: "live" },
  { source: "scripted", word: "scripted" },
  { source: "replay", word: "replayed" },
] as const;

/** Who answered: real models, scripts, or recordings. A click leaves only their calls, and the jobs that have one. */
export function Sources({ stats, chosen, onChoose }: { stats: Stats; chosen: string | undefined; onChoose: (source: string | null) => void }) {
  const rows = new Map(stats.items.filter((row) => row.calls > 0).map((row) => [row.group, row]));
  return (
    <div className="bar" role="group" aria-label="Who answered">
      {WORDS.map(({ source, word }) => {
        const row = rows.get(source);
        return (
          <button key={source} type="button" className="count" aria-pressed={chosen === source} onClick={() => onChoose(chosen === source ? null : source)}>
            {word} <b>{count(row?.calls ?? 0)}</b> {row?.cost_usd == null ? null : <span>{cost(row.cost_usd)}</span>}
          </button>
        );
      })}
      {chosen === undefined && rows.size > 1 ? <span className="muted">All sources. Select one to see it alone.</span> : null}
    </div>
  );
}
