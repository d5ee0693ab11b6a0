import { Select, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Search as SearchIcon } from "lucide-react";
import { get, post } from "../../api/client";
import type { CollectionView, Job, Page as PageOf, SearchResult } from "../../api/types";
import { SearchResultView } from "../../results/search";
import { FollowedJob } from "../../results/followed-job";
import { useWorkbenchJob } from "../../results/workbench";
import { visible } from "../../shared/code/ansi";
import { useDraft } from "../../shared/editing/draft";
import { count } from "../../shared/values/numbers";
import { faultsOf } from "../../shared/editing/field-errors";
import { Empty, Failed, Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { RunKeys, runKey } from "../../shared/editing/run-key";
import { WriteButton } from "../../shared/editing/write-button";
import { Readiness } from "../../shared/page/readiness";
import { History, RecentSearches } from "./history";
import { WordingComparison } from "./wording-comparison";
import { Ingest, NewCollection } from "./collections";
import { Records } from "./records";
import { draftOf, inputOf, planOf, queriesOf, START, without, type Draft } from "./draft";
import { FilterFields } from "./filter-fields";
import { fieldsOf } from "./filters";
import { Segmented } from "../../shared/editing/segmented";
import { SortedTable } from "../../shared/tables/sorted-table";
import { Plan } from "./plan";
import { Icon } from "../../shared/values/icon";
import { Checkbox } from "../../shared/editing/checkbox";

const FIELDS = ["input.collection", "input.question"];

export function Page() {
  useTitle("Search");
  const [draft, setDraft] = useDraft<Draft>("search-typed", START);
  const collections = useQuery({ queryKey: ["collections"], queryFn: () => get<PageOf<CollectionView>>("/v1/collections", { limit: 200 }) });
  const [url, change] = useUrl();
  const { id, job: past, show } = useWorkbenchJob("search", (opened) => setDraft((now) => ({ ...draftOf(opened, now), second: url.second === undefined ? "" : now.second })));
  const run = useMutation({
    mutationFn: async ({ draft, collection }: { draft: Draft; collection: CollectionView }) => {
      const other = draft.second.trim();
      const first = await post<Job>("/v1/jobs", { kind: "search", input: inputOf(draft, collection) });
      // Queries that were edited are those of the first wording.
      const second = other === "" ? null : await post<Job>("/v1/jobs", { kind: "search", input: inputOf({ ...draft, question: other, plan: [] }, collection) });
      return { first, second };
    },
    onSuccess: ({ first, second }) => show(first, { second: second?.id ?? null }),
  });
  const faults = faultsOf(run.error, FIELDS);
  const choose = (collection: string): void => setDraft({ ...draft, collection, plan: [], filters: {} });
  const runWithout = (constraint: string, collection: CollectionView): void => {
    const next = without(draft, past, constraint);
    setDraft(next);
    run.mutate({ draft: next, collection });
  };
  return (
    <>
      <div className="head">
        <div className="title">
          <h1>Search</h1>
          <p>Enter a question; queries are generated and refined</p>
        </div>
        <Segmented
          label="View"
          value={collections.data?.items.length === 0 ? "collections" : (url.view ?? "search")}
          choices={[
            { value: "search", label: "Questions" },
            { value: "collections", label: `Collections ${collections.data?.items.length ?? ""}`.trim() },
            { value: "history", label: "History" },
          ]}
          onChange={(view) => change({ view: view === "search" ? null : view })}
        />
      </div>
      <Readiness kind="search" />
      <Loaded query={collections}>
        {(page) => {
          const chosen = page.items.find((each) => each.name === draft.collection) ?? page.items[0];
          if (chosen === undefined || url.view === "collections") {
            return <Collections items={page.items} chosen={chosen} onChoose={choose} onMade={(name) => (choose(name), change({ view: "collections" }))} onChange={() => void collections.refetch()} />;
          }
          if (url.view === "history") return <History collections={page.items} chosen={chosen} onChoose={choose} />;
          const search = (): void => run.mutate({ draft, collection: chosen });
          return (
            <div className="stack">
              <form
                className="stack"
                aria-label="Search"
                onSubmit={(event) => {
                  event.preventDefault();
                  search();
                }}
              >
                <div className="ask">
                  <Textarea
                    aria-label="Question"
                    placeholder="e.g. Which module reads CSV files?"
                    leftSection={<Icon of={SearchIcon} />}
                    rightSection={<RunKeys />}
                    rightSectionWidth={64}
                    error={faults.at("input.question")}
                    autosize
                    minRows={1}
                    value={draft.question}
                    onChange={(event) => setDraft({ ...draft, question: event.currentTarget.value })}
                    onKeyDown={runKey(search, draft.question.trim() !== "" && !run.isPending)}
                  />
                  <WriteButton type="submit" loading={run.isPending} disabled={draft.question.trim() === ""}>
                    {draft.second.trim() === "" ? "Search" : "Search for both"}
                  </WriteButton>
                </div>
                <div className="bar">
                  <Select aria-label="Collection" error={faults.at("input.collection")} data={page.items.map((each) => each.name)} value={chosen.name} allowDeselect={false} onChange={(name) => choose(name ?? chosen.name)} w={180} />
                  <Tables collection={chosen} />
                  <span className="spacer" />
                  <Checkbox label="Write an answer" checked={draft.answer} onChange={(event) => setDraft({ ...draft, answer: event.currentTarget.checked })} />
                  <Checkbox label="Let the model rewrite queries" checked={draft.reflection} onChange={(event) => setDraft({ ...draft, reflection: event.currentTarget.checked })} />
                  <Checkbox label="Allow dropping filters on retry" checked={draft.relax} onChange={(event) => setDraft({ ...draft, relax: event.currentTarget.checked })} />
                </div>
                {run.error === null ? null : <Failed error={run.error} faults={faults} />}
              </form>
              <div className="cols aside">
                {id === undefined ? (
                  <RecentSearches onAll={() => change({ view: "history" })} />
                ) : (
                  <FollowedJob id={id}>
                    {(job) => (
                      <>
                        {url.second === undefined ? null : <WordingComparison first={job} secondId={url.second} />}
                        {job.result ? (
                          <SearchResultView
                            result={job.result as unknown as SearchResult}
                            onWithout={(_, constraint) => runWithout(constraint, chosen)}
                            onEdit={(queries) => setDraft((now) => ({ ...now, plan: queriesOf(queries) }))}
                          />
                        ) : null}
                      </>
                    )}
                  </FollowedJob>
                )}
                <div className="stack">
                  {Object.keys(fieldsOf(chosen)).length === 0 ? null : (
                    <fieldset className="panel tight">
                      <legend>Filters</legend>
                      <FilterFields legend="Filters of every query" fields={fieldsOf(chosen)} filters={draft.filters} all onChange={(filters) => setDraft({ ...draft, filters })} />
                    </fieldset>
                  )}
                  <Textarea label="Alternative wording" description="Compare which results depend on phrasing" autosize value={draft.second} onChange={(event) => setDraft({ ...draft, second: event.currentTarget.value })} />
                  <Plan collection={chosen} plan={draft.plan} proposed={planOf(past)} question={draft.question} onChange={(plan) => setDraft({ ...draft, plan })} />
                </div>
              </div>
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

interface CollectionsProps {
  items: readonly CollectionView[];
  chosen: CollectionView | undefined;
  onChoose: (name: string) => void;
  /** A new collection, to which records are added next. */
  onMade: (name: string) => void;
  onChange: () => void;
}

/** The collections with their tables; records are read and added here. */
function Collections({ items, chosen, onChoose, onMade, onChange }: CollectionsProps) {
  return (
    <div className="cols even">
      <div className="stack">
        {items.length === 0 ? (
          <Empty title="No collections yet" icon={SearchIcon}>
            Add records from a JSONL, CSV or Parquet file, then search in plain language.
          </Empty>
        ) : (
          <SortedTable
            id="collections"
            label="Collections"
            columns={[
              { name: "Collection", by: (row) => row.name },
              "Tables",
              { name: "Records", num: true, by: (row) => Object.values(row.records ?? {}).reduce((sum, records) => sum + records, 0) },
            ]}
            items={items}
            row={(each) => (
              <tr key={each.name} aria-selected={each.name === chosen?.name}>
                <td>
                  <button type="button" className="link" onClick={() => onChoose(each.name)}>
                    {visible(each.name)}
                  </button>
                </td>
                <td>{visible(Object.keys(each.tables).join(", "))}</td>
                <td className="num">{count(Object.values(each.records ?? {}).reduce((sum, records) => sum + records, 0))}</td>
              </tr>
            )}
          />
        )}
        <NewCollection
          key={String(chosen === undefined)}
          first={chosen === undefined}
          onDone={(name) => {
            onChange();
            onMade(name);
          }}
        />
      </div>
      {chosen === undefined ? null : (
        <div className="stack">
          <h2>{visible(chosen.name)}</h2>
          <Tables collection={chosen} />
          <Ingest key={chosen.name} collection={chosen} onDone={onChange} />
          <Records key={`records ${chosen.name}`} collection={chosen} />
        </div>
      )}
    </div>
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
