import { useState } from "react";
import type { Evaluation, EvaluationTotal } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { Causes, intervalWords, Success } from "../../shared/values/success";
import { took } from "../../shared/values/time";
import { SortedTable } from "../../shared/tables/sorted-table";

/** Beyond so small a probability of chance a difference counts as one. */
const ALPHA = 0.05;
const FIRST = 20;

export function Totals({ totals }: { totals: readonly EvaluationTotal[] }) {
  return (
    <SortedTable
      id="totals"
      label="Totals"
      columns={[
        { name: "Variant", by: (row) => row.variant },
        { name: "Success (95%)", by: (row) => row.runs === 0 ? null : row.successes / row.runs },
        { name: "Turns", num: true, by: (row) => row.turns },
        { name: "Tokens", num: true, by: (row) => row.tokens },
        { name: "Cost", num: true, by: (row) => row.cost_usd },
        { name: "Time", num: true, by: (row) => row.seconds },
        "Failures by cause",
      ]}
      items={totals}
      row={(total) => (
        <tr key={total.variant}>
          <td>{visible(total.variant)}</td>
          <td>
            <Success of={total} />
          </td>
          <td className="num">{total.turns?.toFixed(1) ?? "–"}</td>
          <td className="num">{count(total.tokens)}</td>
          <td className="num">{cost(total.cost_usd)}</td>
          <td className="num">{took(total.seconds)}</td>
          <td>
            <Causes of={total.failures} />
          </td>
        </tr>
      )}
    />
  );
}

/** Each two variants over the runs that both have; the least likely to be chance first. */
export function Comparisons({ comparisons }: { comparisons: Evaluation["comparisons"] }) {
  const [all, setAll] = useState(false);
  if (comparisons.length === 0) return null;
  const sorted = [...comparisons].sort((one, other) => one.p - other.p);
  return (
    <section className="stack" aria-label="Comparisons">
      <h2>Comparisons</h2>
      <SortedTable
        id="comparisons"
        label="Table of comparisons"
        columns={[
          { name: "A", by: (row) => row.a },
          { name: "B", by: (row) => row.b },
          { name: "A − B (95%)", by: (row) => row.difference },
          { name: "p", num: true, by: (row) => row.p },
          "",
        ]}
        items={sorted.slice(0, all ? sorted.length : FIRST)}
        row={(each) => (
          <tr key={`${each.a}\n${each.b}`}>
            <td>{visible(each.a)}</td>
            <td>{visible(each.b)}</td>
            <td className="mono">
              {signed(each.difference)} <span className="muted">{intervalWords(each.interval)}</span>
            </td>
            <td className="num mono">{each.p < 0.001 ? "< 0.001" : each.p.toFixed(3)}</td>
            <td>{each.difference === 0 ? <span className="muted">No difference</span> : each.p < ALPHA ? <Tag tone="accent">{visible(each.difference > 0 ? each.a : each.b)} is better</Tag> : <span className="muted">Not significant</span>}</td>
          </tr>
        )}
      />
      {all || sorted.length <= FIRST ? null : (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show all {sorted.length}
        </button>
      )}
    </section>
  );
}

function signed(value: number): string {
  return `${value > 0 ? "+" : ""}${value.toFixed(2)}`;
}
