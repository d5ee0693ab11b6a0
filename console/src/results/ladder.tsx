import type { SearchResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { stepsOf, wordings, type ExecutedQuery, type PlannedQuery, type QueryChange, type QueryStep } from "./query-diff";
import { SortedTable } from "../shared/tables/sorted-table";

/** The id of the part below, for links to it. */
export const LADDER = "how-it-was-searched";

/** What a strategy does, for who never read of it. */
export const STRATEGIES: Readonly<Record<string, string>> = {
  initial: "1st query",
  relax: "fewer filters",
  rewrite: "rewritten by the model",
  pivot: "other table",
  mechanical: "automatic retry",
};

/** The queries with how many each found: "1st query: 0 hits → other table: 10 hits". */
export function ladderOf(result: SearchResult): string {
  return result.attempts.map((attempt) => `${STRATEGIES[attempt.strategy] ?? attempt.strategy}: ${hitWords(attempt.queries.reduce((sum, query) => sum + query.hits, 0))}`).join(" → ");
}

function hitWords(hits: number): string {
  return `${hits} ${hits === 1 ? "hit" : "hits"}`;
}

interface Props {
  result: SearchResult;
  /** Takes the queries of an attempt into the form, to run them as they will be edited. */
  onEdit?: (queries: readonly PlannedQuery[]) => void;
}

/** The attempts in order: the queries of each, how that differs from before, what it found, and why the next was made. */
export function Ladder({ result, onEdit }: Props) {
  return (
    <section className="panel stack" aria-label="Attempts" id={LADDER}>
      <h3>How it was searched</h3>
      <p className="muted">{ladderOf(result)}</p>
      {result.attempts.map((attempt, index) => (
        <div key={attempt.number} className="tight">
          <div className="bar">
            <b>{attempt.number}</b> <Tag tone={attempt.strategy === "initial" ? "" : "accent"}>{STRATEGIES[attempt.strategy] ?? attempt.strategy}</Tag>
            <span>{visible(attempt.user_message)}</span>
            {onEdit === undefined ? null : (
              <button type="button" className="link" aria-label={`Edit these queries of attempt ${attempt.number}`} onClick={() => onEdit(index === 0 ? result.original_plan : attempt.queries)}>
                Edit these queries
              </button>
            )}
          </div>
          {attempt.reasoning === "" ? null : <span className="muted">{visible(attempt.reasoning)}</span>}
          <Queries number={attempt.number} queries={attempt.queries} />
          {index === 0 ? null : <Changed queries={attempt.queries} steps={stepsOf(result.attempts, index)} />}
        </div>
      ))}
    </section>
  );
}

function Queries({ number, queries }: { number: number; queries: readonly ExecutedQuery[] }) {
  return (
    <SortedTable
      id="queries"
      label={`Queries of attempt ${number}`}
      columns={[
        { name: "Table", by: (row) => row.table },
        { name: "Mode", by: (row) => row.search_mode },
        { name: "Text", by: (row) => row.query_text },
        "Filters",
        { name: "Threshold", num: true, by: (row) => row.score_threshold },
        { name: "Hits", num: true, by: (row) => row.hits },
        { name: "Time", num: true, by: (row) => row.ms },
      ]}
      items={queries}
      row={(query, index) => (
        <tr key={index}>
          <td>{visible(query.table)}</td>
          <td>{MODES[query.search_mode] ?? query.search_mode}</td>
          <td title={query.query_text}>{visible(query.query_text)}</td>
          <td className="mono">{Object.keys(query.filters).length === 0 ? "–" : visible(JSON.stringify(query.filters))}</td>
          <td className="num">{query.score_threshold?.toFixed(3) ?? "default"}</td>
          <td className="num">{query.error ? <span className="bad">{visible(query.error)}</span> : query.hits}</td>
          <td className="num">{query.ms.toFixed(0)} ms</td>
        </tr>
      )}
    />
  );
}

const MODES: Readonly<Record<string, string>> = { master: "full text", faceted: "by facet" };

/** What each query changed of the one before it: + new, ~ other, - gone. */
function Changed({ queries, steps }: { queries: readonly ExecutedQuery[]; steps: readonly QueryStep[] }) {
  return (
    <ul className="plain-list tight" aria-label="What the queries changed">
      {steps.map((step, index) => (
        <li key={index} className="bar">
          <span className="mono">{visible(queries[index]!.table)}</span>
          {step.since === null ? (
            <span className="good">+ first searched in this attempt</span>
          ) : step.changes.length === 0 ? (
            <span className="muted">as in attempt {step.since}</span>
          ) : (
            <>
              <span className="muted">since attempt {step.since}:</span>
              {step.changes.map((change) => (
                <Change key={change.what} change={change} />
              ))}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Change({ change }: { change: QueryChange }) {
  const [sign, tone] = change.before === null ? (["+", "good"] as const) : change.after === null ? (["-", "bad"] as const) : (["~", "warn"] as const);
  return (
    <span className={`tag ${tone} wrapped`}>
      {sign} {visible(change.what)}{" "}
      {change.what === "text" ? (
        <Words before={change.before!} after={change.after!} />
      ) : (
        <>
          {change.before === null ? null : <del>{visible(change.before)}</del>}
          {sign === "~" ? " → " : ""}
          {change.after === null ? null : <ins>{visible(change.after)}</ins>}
        </>
      )}
    </span>
  );
}

/** Two wordings in one line: what went is struck, what came is underlined. */
function Words({ before, after }: { before: string; after: string }) {
  return wordings(before, after).map(({ sign, text }, index) => {
    const words = visible(text);
    return <span key={index}>{sign === "-" ? <del>{words}</del> : sign === "+" ? <ins>{words}</ins> : words} </span>;
  });
}
