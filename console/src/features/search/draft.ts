import type { CollectionView, Job, SearchResult } from "../../api/types";
import { fieldsOf, textsOf, valuesOf, type FilterTexts } from "./filters";

type PlannedQuery = SearchResult["original_plan"][number];

/** A query as its fields hold it: filters as they are typed. */
export interface QueryDraft {
  table: string;
  search_mode: "faceted" | "master";
  query_text: string;
  limit: number;
  score_threshold: number | null;
  filters: FilterTexts;
}

export interface Draft {
  collection: string | null;
  question: string;
  /** The question in other words, which is searched for as well. */
  second: string;
  plan: QueryDraft[];
  filters: FilterTexts;
  answer: boolean;
  reflection: boolean;
  /** Whether a retry may drop filters. */
  relax: boolean;
}

export const START: Draft = { collection: null, question: "", second: "", plan: [], filters: {}, answer: true, reflection: true, relax: false };
export const EMPTY_QUERY: QueryDraft = { table: "", search_mode: "master", query_text: "", limit: 10, score_threshold: null, filters: {} };

/** The form as an input of the kind. */
export function inputOf(draft: Draft, collection: CollectionView): Record<string, unknown> {
  const plan = draft.plan
    .filter((query) => query.query_text.trim() !== "")
    .map((query) => ({ ...query, filters: valuesOf(query.filters, fieldsOf(collection, query.table)) }));
  return {
    collection: collection.name,
    question: draft.question,
    filters: valuesOf(draft.filters, fieldsOf(collection)),
    answer: draft.answer,
    reflection: draft.reflection,
    relax_filters: draft.relax,
    ...(plan.length === 0 ? {} : { plan }),
  };
}

/** Queries as the form has them; who submitted the job may have left some of their parts to the server. */
export function queriesOf(plan: readonly Partial<Omit<PlannedQuery, "search_mode"> & { search_mode: string }>[]): QueryDraft[] {
  return plan.map(({ table = "", search_mode, query_text = "", limit, score_threshold, filters }) => ({
    table,
    search_mode: search_mode === "master" ? "master" : "faceted",
    query_text,
    limit: limit ?? EMPTY_QUERY.limit,
    score_threshold: score_threshold ?? null,
    filters: textsOf(filters ?? {}),
  }));
}

/** The queries that a search began with. */
export function planOf(job: Job | undefined): QueryDraft[] {
  const result = job?.result as unknown as SearchResult | null | undefined;
  return queriesOf(result?.original_plan ?? []);
}

/** A past search in the form. */
export function draftOf(job: Job, now: Draft): Draft {
  const input = job.input as unknown as { collection: string; question: string; plan?: Partial<PlannedQuery>[]; filters?: Record<string, unknown>; answer?: boolean; reflection?: boolean; relax_filters?: boolean };
  return {
    ...now,
    collection: input.collection,
    question: input.question,
    plan: queriesOf(input.plan ?? []),
    filters: textsOf(input.filters ?? {}),
    answer: input.answer ?? true,
    reflection: input.reflection ?? true,
    relax: input.relax_filters ?? false,
  };
}

/** The form without a constraint of all its queries, those of the job where it has none of its own; a threshold of 0 lets everything through. */
export function without(draft: Draft, job: Job | undefined, constraint: string): Draft {
  const name = constraint.replace(/^filters?\./, "");
  const left = (filters: FilterTexts): FilterTexts => Object.fromEntries(Object.entries(filters).filter(([field]) => field !== name));
  const plan = (draft.plan.length > 0 ? draft.plan : planOf(job)).map((query) =>
    /threshold/.test(name) ? { ...query, score_threshold: 0 } : { ...query, filters: left(query.filters) },
  );
  return { ...draft, filters: left(draft.filters), plan };
}
