import { visible } from "../../shared/code/ansi";
import { StateMark, Tag } from "../../shared/values/marks";
import { PROVIDER_STATES, type State } from "../../shared/values/states";
import type { Models } from "../../api/types";
import { count } from "../../shared/values/numbers";
import { dollars, endsWords, nameOf, type Facts, type Price } from "./facts";
import { SortedTable } from "../../shared/tables/sorted-table";

const AVAILABLE: State = { ...PROVIDER_STATES.healthy, word: "Available" };

/** Every model that is known: what it costs and since when that is known, what it takes, and until when it is there. */
export function ModelTable({ models, facts }: { models: Models; facts: Facts }) {
  return (
    <section aria-label="Known models">
      <div className="sec">
        <h2>Prices</h2>
        <span className="muted">US dollars per million tokens. Calls to a model without a price are counted as unpriced.</span>
      </div>
      <SortedTable
        id="prices"
        label="Prices"
        columns={[
          { name: "Model", by: (model) => model.name },
          { name: "Input", num: true, by: (model) => model.price?.input },
          { name: "Output", num: true, by: (model) => model.price?.output },
          { name: "Cached", num: true, by: (model) => model.price?.cached, title: "Input that is read from the provider's cache; where its price is not known it counts as other input" },
          { name: "As of", by: (model) => model.price?.as_of },
          { name: "Window", num: true, by: (model) => model.window, title: "Tokens" },
          { name: "State", by: (model) => (facts.configured.get(model.name) ? 0 : 1) },
        ]}
        items={models.available.map((model) => {
          const name = nameOf({ provider: String(model.provider), model: String(model.model) });
          return { name, price: facts.prices.get(name), window: typeof model.window === "number" ? model.window : null };
        })}
        row={(model) => <Row key={model.name} {...model} facts={facts} />}
      />
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
