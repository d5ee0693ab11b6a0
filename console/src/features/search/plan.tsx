import { Button, NumberInput, Select, TextInput } from "@mantine/core";
import type { CollectionView } from "../../api/types";

export interface PlannedQuery {
  table: string;
  search_mode: "faceted" | "master";
  query_text: string;
  limit: number;
  score_threshold: number | null;
  filters: Record<string, unknown>;
}

export const EMPTY_PLAN: PlannedQuery = { table: "", search_mode: "master", query_text: "", limit: 10, score_threshold: null, filters: {} };

interface Props {
  collection: CollectionView;
  plan: readonly PlannedQuery[];
  proposed: readonly PlannedQuery[];
  question: string;
  onChange: (plan: PlannedQuery[]) => void;
}

/** The queries, written by oneself: then no model is asked for a plan. */
export function Plan({ collection, plan, proposed, question, onChange }: Props) {
  const tables = Object.keys(collection.tables);
  const set = (index: number, change: Partial<PlannedQuery>): void => onChange(plan.map((query, place) => (place === index ? { ...query, ...change } : query)));
  return (
    <fieldset className="panel tight">
      <legend>Queries</legend>
      {plan.length === 0 ? <span className="muted">A model writes them from the question.</span> : null}
      {plan.map((query, index) => (
        <div key={index} className="bar">
          <Select aria-label={`Table of query ${index + 1}`} data={tables} value={query.table || null} onChange={(table) => set(index, { table: table ?? "" })} w={120} />
          <Select aria-label={`Mode of query ${index + 1}`} data={["master", "faceted"]} value={query.search_mode} onChange={(mode) => set(index, { search_mode: mode as PlannedQuery["search_mode"] })} w={100} />
          <TextInput aria-label={`Text of query ${index + 1}`} value={query.query_text} onChange={(event) => set(index, { query_text: event.currentTarget.value })} style={{ flex: 1, minWidth: 140 }} />
          <NumberInput aria-label={`Threshold of query ${index + 1}`} placeholder="threshold" min={0} max={1} step={0.05} value={query.score_threshold ?? ""} onChange={(value) => set(index, { score_threshold: value === "" ? null : Number(value) })} w={90} />
          <NumberInput aria-label={`Hits at most of query ${index + 1}`} placeholder="hits" min={1} max={100} value={query.limit} onChange={(value) => set(index, { limit: Number(value) || EMPTY_PLAN.limit })} w={64} />
          <button type="button" className="link" aria-label={`Remove query ${index + 1}`} onClick={() => onChange(plan.filter((_, place) => place !== index))}>
            Remove
          </button>
        </div>
      ))}
      <span className="bar">
        <Button variant="default" onClick={() => onChange([...plan, { ...EMPTY_PLAN, table: tables[0] ?? "", query_text: question }])}>
          Add a query
        </Button>
        {plan.length === 0 && proposed.length > 0 ? (
          <Button variant="default" onClick={() => onChange([...proposed])}>
            Edit the model's
          </Button>
        ) : null}
      </span>
    </fieldset>
  );
}
