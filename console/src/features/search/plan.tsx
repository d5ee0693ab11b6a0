import { Button, Select, TextInput } from "@mantine/core";
import type { CollectionView } from "../../api/types";
import { FilterFields } from "./filter-fields";
import { fieldsOf } from "./filters";
import { EMPTY_QUERY, type QueryDraft } from "./draft";
import { NumberInput } from "../../shared/editing/number-input";

interface Props {
  collection: CollectionView;
  plan: readonly QueryDraft[];
  proposed: readonly QueryDraft[];
  question: string;
  onChange: (plan: QueryDraft[]) => void;
}

/** The queries, written by oneself: then no model is called for a plan. */
export function Plan({ collection, plan, proposed, question, onChange }: Props) {
  const tables = Object.keys(collection.tables);
  return (
    <fieldset className="panel stack">
      <legend>Queries</legend>
      {plan.length === 0 ? <span className="muted">A model writes them from the question.</span> : null}
      {plan.map((query, index) => (
        <QueryRow
          key={index}
          number={index + 1}
          collection={collection}
          query={query}
          onChange={(changed) => onChange(plan.map((each, place) => (place === index ? changed : each)))}
          onRemove={() => onChange(plan.filter((_, place) => place !== index))}
        />
      ))}
      <span className="bar">
        <Button variant="default" onClick={() => onChange([...plan, { ...EMPTY_QUERY, table: tables[0] ?? "", query_text: question }])}>
          Add a query
        </Button>
        {plan.length === 0 && proposed.length > 0 ? (
          <Button variant="default" onClick={() => onChange([...proposed])}>
            Edit the model's
          </Button>
        ) : null}
        {plan.length > 0 ? (
          <button type="button" className="link" onClick={() => onChange([])}>
            Let a model write them
          </button>
        ) : null}
      </span>
    </fieldset>
  );
}

/** One query: table, mode, threshold and limit, its text, and the filters of its table. */
function QueryRow({ number, collection, query, onChange, onRemove }: { number: number; collection: CollectionView; query: QueryDraft; onChange: (query: QueryDraft) => void; onRemove: () => void }) {
  const of = ` of query ${number}`;
  const set = (change: Partial<QueryDraft>): void => onChange({ ...query, ...change });
  return (
    <div className="tight" role="group" aria-label={`Query ${number}`}>
      <div className="bar">
        <Select aria-label={`Table${of}`} data={Object.keys(collection.tables)} value={query.table || null} onChange={(table) => set({ table: table ?? "" })} w={110} />
        <Select aria-label={`Mode${of}`} data={["master", "faceted"]} value={query.search_mode} onChange={(mode) => set({ search_mode: mode as QueryDraft["search_mode"] })} w={100} />
        <NumberInput aria-label={`Threshold${of}`} placeholder="threshold" min={0} max={1} step={0.05} value={query.score_threshold ?? ""} onChange={(value) => set({ score_threshold: value === "" ? null : Number(value) })} w={84} />
        <NumberInput aria-label={`Hits at most${of}`} placeholder="hits" min={1} max={100} value={query.limit} onChange={(value) => set({ limit: Number(value) || EMPTY_QUERY.limit })} w={64} />
        <button type="button" className="link" aria-label={`Remove query ${number}`} onClick={onRemove}>
          Remove
        </button>
      </div>
      <TextInput aria-label={`Text${of}`} value={query.query_text} onChange={(event) => set({ query_text: event.currentTarget.value })} />
      <FilterFields legend={`Filters${of}`} of={of} all={false} fields={fieldsOf(collection, query.table)} filters={query.filters} onChange={(filters) => set({ filters })} />
    </div>
  );
}
