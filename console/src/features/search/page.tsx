import { Checkbox, Select, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { get, post } from "../../api/client";
import type { CollectionView, Job, Page as PageOf, SearchResult } from "../../api/types";
import { SearchResultView } from "../../results/search";
import { JobSide, useWorkbenchJob } from "../../results/workbench";
import { visible } from "../../shared/ansi";
import { useDraft } from "../../shared/draft";
import { count } from "../../shared/numbers";
import { Fault, faultsOf } from "../../shared/faults";
import { Empty, Failed, Loaded } from "../../shared/states";
import { useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";
import { WriteButton } from "../../shared/write";
import { Readiness } from "../../shared/ready";
import { PastAttempts } from "./attempts";
import { Beside } from "./beside";
import { Ingest, NewCollection } from "./collections";
import { Records } from "./records";
import { EMPTY_PLAN, Plan, type PlannedQuery } from "./plan";

interface Draft {
  collection: string | null;
  question: string;
  /** The question in other words, which is searched for beside it. */
  second?: string;
  plan: PlannedQuery[];
  filters: Record<string, string>;
  answer: boolean;
  reflection: boolean;
}

const START: Draft = { collection: null, question: "", plan: [], filters: {}, answer: true, reflection: true };

const FIELDS = ["input.collection", "input.question", "input.filters"];

export function Page() {
  useTitle("Search");
  const [draft, setDraft] = useDraft<Draft>("search", START);
  const collections = useQuery({ queryKey: ["collections"], queryFn: () => get<PageOf<CollectionView>>("/v1/collections", { limit: 200 }) });
  const [url] = useUrl();
  const { id, job: past, show } = useWorkbenchJob("search", (opened) => {
    const input = opened.input as unknown as { collection: string; question: string; plan?: Partial<PlannedQuery>[]; filters?: Record<string, unknown> };
    setDraft((now) => ({ ...now, collection: input.collection, question: input.question, second: url.second === undefined ? "" : now.second, plan: filledOf(input.plan ?? []), filters: textOf(input.filters ?? {}) }));
  });
  const run = useMutation({
    mutationFn: async (draft: Draft) => {
      const other = draft.second?.trim() ?? "";
      const first = await post<Job>("/v1/jobs", { kind: "search", input: inputOf(draft) });
      // Queries that were edited are those of the first wording.
      const second = other === "" ? null : await post<Job>("/v1/jobs", { kind: "search", input: inputOf({ ...draft, question: other, plan: [] }) });
      return { first, second };
    },
    onSuccess: ({ first, second }) => show(first, { second: second?.id ?? null }),
  });
  const faults = faultsOf(run.error, FIELDS);
  const runWithout = (constraint: string): void => {
    const name = constraint.replace(/^filters?\./, "");
    const filters = Object.fromEntries(Object.entries(draft.filters).filter(([field]) => field !== name));
    const plan = (draft.plan.length > 0 ? draft.plan : planOf(past)).map((query) => without(query, name));
    const next = { ...draft, filters, plan };
    setDraft(next);
    run.mutate(next);
  };
  return (
    <>
      <div className="head">
        <h1>Search</h1>
        <span className="muted">a question becomes queries, which are tried and mended</span>
      </div>
      <Readiness kind="search" />
      <Loaded query={collections}>
        {(page) => {
          const chosen = page.items.find((each) => each.name === draft.collection) ?? page.items[0];
          const current = { ...draft, collection: chosen?.name ?? null };
          return (
            <div className="cols">
              <div className="stack">
                {chosen === undefined ? (
                  <Empty title="There is no collection yet">
                    <span className="muted">A collection holds tables of records; a question is answered from them.</span>
                  </Empty>
                ) : (
                  <>
                    <Select label="Collection" error={faults.at("input.collection")} data={page.items.map((each) => each.name)} value={chosen.name} onChange={(collection) => setDraft({ ...draft, collection, plan: [], filters: {} })} />
                    <Tables collection={chosen} />
                    <Textarea label="Question" error={faults.at("input.question")} autosize minRows={2} value={draft.question} onChange={(event) => setDraft({ ...draft, question: event.currentTarget.value })} />
                    <Textarea label="In other words" description="Searched for beside the question, to see which hits depend on the wording" autosize value={draft.second ?? ""} onChange={(event) => setDraft({ ...draft, second: event.currentTarget.value })} />
                    <Filters collection={chosen} error={faults.at("input.filters")} filters={draft.filters} onChange={(filters) => setDraft({ ...draft, filters })} />
                    <Plan collection={chosen} plan={draft.plan} proposed={planOf(past)} question={draft.question} onChange={(plan) => setDraft({ ...draft, plan })} />
                    <div className="bar">
                      <Checkbox label="Answer in words" checked={draft.answer} onChange={(event) => setDraft({ ...draft, answer: event.currentTarget.checked })} />
                      <Checkbox label="Let a model rewrite" checked={draft.reflection} onChange={(event) => setDraft({ ...draft, reflection: event.currentTarget.checked })} />
                    </div>
                    <span>
                      <WriteButton loading={run.isPending} disabled={draft.question.trim() === ""} onClick={() => run.mutate(current)}>
                        {(draft.second ?? "").trim() === "" ? "Search" : "Search for both"}
                      </WriteButton>
                    </span>
                  </>
                )}
                {run.error === null ? null : <Failed error={run.error} faults={faults} />}
                {chosen === undefined ? null : <PastAttempts key={chosen.name} collection={chosen.name} />}
                {chosen === undefined ? null : <Records key={`records ${chosen.name}`} collection={chosen} />}
                {chosen === undefined ? null : <Ingest collection={chosen} onDone={() => void collections.refetch()} />}
                <NewCollection key={String(chosen === undefined)} first={chosen === undefined} onDone={() => void collections.refetch()} />
              </div>
              <JobSide id={id} empty="What is found stands here" hint="With the queries that found it, and, when nothing is found, which constraint stands in the way.">
                {(job) => (
                  <>
                    {url.second === undefined ? null : <Beside first={job} secondId={url.second} />}
                    {job.result ? <SearchResultView result={job.result as unknown as SearchResult} onWithout={(_, constraint) => runWithout(constraint)} /> : null}
                  </>
                )}
              </JobSide>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

function Tables({ collection }: { collection: CollectionView }) {
  return (
    <div className="chips">
      {Object.keys(collection.tables).map((table) => (
        <span key={table}>
          {visible(table)} <b>{count(collection.records?.[table] ?? 0)}</b> records
        </span>
      ))}
    </div>
  );
}

/** The collection's own fields, typed; an empty one does not filter. */
function Filters({ collection, filters, error, onChange }: { collection: CollectionView; filters: Record<string, string>; error: string | undefined; onChange: (filters: Record<string, string>) => void }) {
  const id = useId();
  const fields = Object.assign({}, ...Object.values(collection.tables).map((table) => table.fields ?? {})) as Record<string, string>;
  if (Object.keys(fields).length === 0) return null;
  return (
    <fieldset className="panel tight" aria-describedby={error === undefined ? undefined : id}>
      <legend>Filters</legend>
      {Object.entries(fields).map(([name, type]) => (
        <label key={name} className="bar">
          <span style={{ minWidth: 120 }}>
            {visible(name)} <span className="muted">{type}</span>
          </span>
          <input className="plain-input mono" value={filters[name] ?? ""} placeholder={type === "bool" ? "true or false" : "any"} onChange={(event) => onChange({ ...filters, [name]: event.currentTarget.value })} />
        </label>
      ))}
      <Fault id={id} text={error} />
    </fieldset>
  );
}

function inputOf(draft: Draft): Record<string, unknown> {
  const filters = Object.fromEntries(Object.entries(draft.filters).filter(([, value]) => value !== "").map(([name, value]) => [name, valueOf(value)]));
  const plan = draft.plan.filter((query) => query.query_text.trim() !== "");
  return { collection: draft.collection, question: draft.question, filters, answer: draft.answer, reflection: draft.reflection, ...(plan.length === 0 ? {} : { plan }) };
}

function valueOf(text: string): unknown {
  if (text === "true" || text === "false") return text === "true";
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (/^[[{]/.test(text)) {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return text;
    }
  }
  return text;
}

function textOf(filters: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : String(value)]));
}

function planOf(job: Job | undefined): PlannedQuery[] {
  const result = job?.result as unknown as SearchResult | null | undefined;
  return filledOf(result?.original_plan ?? []);
}

/** Queries with all their fields: whoever submitted the job may have left some to the server. */
function filledOf(plan: readonly Partial<PlannedQuery>[]): PlannedQuery[] {
  return plan.map((query) => ({ ...EMPTY_PLAN, ...query }));
}

/** The query without that constraint; a threshold of 0 lets everything through. */
function without(query: PlannedQuery, name: string): PlannedQuery {
  if (/threshold/.test(name)) return { ...query, score_threshold: 0 };
  return { ...query, filters: Object.fromEntries(Object.entries(query.filters).filter(([field]) => field !== name)) };
}
