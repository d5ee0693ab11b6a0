import { visible } from "../../shared/code/ansi";
import { StateMark, Tag } from "../../shared/values/marks";
import { PROVIDER_STATES, type State } from "../../shared/values/states";
import type { Models } from "../../api/types";
import { count } from "../../shared/values/numbers";
import { dollars, endsWords, nameOf, type Facts, type Price } from "./facts";
import { TableHead } from "../../shared/tables/table-head";

const AVAILABLE: State = { ...PROVIDER_STATES.healthy, word: "Available" };

/** Every model that is known: what it costs and since when that is known, what it takes, and until when it is there. */
export function ModelTable({ models, facts }: { models: Models; facts: Facts }) {
  return (
    <section aria-label="Known models">
      <div className="sec">
        <h2>Prices</h2>
        <span className="muted">US dollars per million tokens. Calls to a model without a price are counted as unpriced.</span>
      </div>
      <div className="scroll" tabIndex={0} role="region" aria-label="Prices">
        <table className="grid-table wide">
          <TableHead
            columns={[
              "Model",
              { name: "Input", num: true },
              { name: "Output", num: true },
              { name: "Cached", num: true, title: "Input that is read from the provider's cache; where its price is not known it counts as other input" },
              "As of",
              { name: "Window", num: true, title: "Tokens" },
              "State",
            ]}
          />
          <tbody>
            {models.available.map((model) => {
              const name = nameOf({ provider: String(model.provider), model: String(model.model) });
              return <Row key={name} name={name} price={facts.prices.get(name)} window={typeof model.window === "number" ? model.window : null} facts={facts} />;
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Row({ name, price, window, facts }: { name: string; price: Price | undefined; window: number | null; facts: Facts }) {
  const [provider, ...model] = name.split("/");
  const ends = endsWords(facts, { provider: provider!, model: model.join("/") });
  const above = price?.above;
  return (
    <tr>
      <td className="mono">{visible(name)}</td>
      <td className="num" title={above ? `$${above.input} beyond ${count(above.tokens)} tokens` : undefined}>
        {priceOf(price?.input)}
        {above ? "*" : ""}
      </td>
      <td className="num" title={above ? `$${above.output} beyond ${count(above.tokens)} tokens` : undefined}>
        {priceOf(price?.output)}
        {above ? "*" : ""}
      </td>
      <td className="num">{price?.input == null ? "–" : price.cached == null ? "as input" : priceOf(price.cached)}</td>
      <td className="mono">{price?.as_of ?? "–"}</td>
      <td className="num">{count(window)}</td>
      <td>
        {ends === null ? null : <Tag tone={ends.over ? "bad" : "warn"}>{ends.words}</Tag>} {facts.configured.get(name) ? <StateMark of={AVAILABLE} /> : <StateMark of={PROVIDER_STATES.unconfigured} />}
      </td>
    </tr>
  );
}

function priceOf(price: number | null | undefined): string {
  return price == null ? "–" : dollars(price);
}
