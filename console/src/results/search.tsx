import type { SearchResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { cell } from "../shared/values/numbers";
import { Ladder, LADDER, ladderOf } from "./ladder";
import { type Citation, citedId, hitId, Passages } from "./passages";
import type { PlannedQuery } from "./query-diff";
import { WhyEmpty } from "./why-empty";

type Hit = SearchResult["hits"][string][number];

interface Props {
  result: SearchResult;
  /** Runs the search again without a constraint: a filter's field, or `score_threshold`. */
  onWithout?: (table: string, constraint: string) => void;
  /** Takes the queries of an attempt into the form. */
  onEdit?: (queries: readonly PlannedQuery[]) => void;
}

/** What was found and why it is believed, or why nothing was. */
export function SearchResultView({ result, onWithout, onEdit }: Props) {
  return (
    <div className="stack">
      <Verdict result={result} />
      {result.answer ? <Answer result={result} /> : null}
      {Object.entries(result.hits).map(([table, hits]) => (
        <Hits key={table} table={table} hits={hits} citations={result.citations} />
      ))}
      <WhyEmpty result={result} onWithout={onWithout} />
      <Ladder result={result} onEdit={onEdit} />
    </div>
  );
}

function Verdict({ result }: { result: SearchResult }) {
  const confidence = result.evaluation?.confidence ?? null;
  return (
    <div className="bar">
      {confidence === null ? null : (
        <span className="muted" title="From 0 (like an unrelated record) to 1 (like an answer)">
          Confidence: {confidence >= 0.75 ? "high" : confidence >= 0.4 ? "medium" : "low"} ({confidence.toFixed(2)})
        </span>
      )}
      <span className="spacer" />
      <a className="plain" href={`#${LADDER}`}>
        {ladderOf(result)}
      </a>
    </div>
  );
}

/** The answer with its citations numbered; each leads to its passage. */
function Answer({ result }: { result: SearchResult }) {
  return (
    <section className="panel" aria-label="Answer">
      <p className="wrapped">{visible(result.answer ?? "")}</p>
      <div className="bar">
        {result.citations.map((citation, index) => (
          <a key={index} className="plain" href={`#${citedId(result, citation)}`}>
            [{index + 1}] {visible(citation.id)}
          </a>
        ))}
      </div>
    </section>
  );
}

/** What a hit's label means, for who never read of the strategies. */
const LABELS: Readonly<Record<Hit["label"], string>> = { exact: "exact", relaxed: "fewer filters", rewritten: "another wording", pivoted: "from another table" };

function Hits({ table, hits, citations }: { table: string; hits: readonly Hit[]; citations: readonly Citation[] }) {
  const best = Math.max(...hits.map((hit) => hit.score), 0.0001);
  return (
    <section aria-label={`Hits in ${table}`}>
      <div className="sec">
        <h3>{visible(table)}</h3>
        <span className="muted">
          {hits.length} {hits.length === 1 ? "hit" : "hits"}
        </span>
      </div>
      {hits.length === 0 ? <p className="muted">No hits.</p> : null}
      {hits.map((hit, index) => (
        <article key={hit.id} id={hitId(table, hit.id)} className="hit">
          <span className="muted num">{index + 1}</span>
          <div className="tight">
            <div className="bar">
              <b>{visible(hit.name || hit.id)}</b>
              {hit.name === hit.id ? null : <span className="mono muted">{visible(hit.id)}</span>}
              <Tag tone={hit.label === "exact" ? "" : "accent"}>{LABELS[hit.label]}</Tag>
              {hit.weak ? <Tag tone="warn">weak match</Tag> : null}
              {(hit.attempt ?? 1) > 1 ? <span className="muted">query {hit.attempt}</span> : null}
            </div>
            <Passages table={table} hit={hit} citations={citations} />
            {(hit.duplicates ?? 0) > 0 ? <span className="muted small">{hit.duplicates} more with the same text</span> : null}
            <div className="chips">
              {Object.entries(hit.fields).map(([name, value]) => (
                <span key={name}>
                  {visible(name)} <b>{visible(cell(value).slice(0, 200))}</b>
                </span>
              ))}
              {hit.facets.map((facet) => (
                <span key={facet.key}>
                  similar in {visible(facet.key)} <b>{facet.score.toFixed(2)}</b>
                </span>
              ))}
            </div>
          </div>
          <span className="score" title={hit.similarity == null ? undefined : `Similarity ${hit.similarity.toFixed(3)}`}>
            <span className={`meter ${hit.weak ? "neutral" : ""}`} role="img" aria-label={`Score ${hit.score.toFixed(3)}`}>
              <i style={{ width: `${(100 * hit.score) / best}%` }} />
            </span>
            <span className="num">{(hit.similarity ?? hit.score).toFixed(2)}</span>
          </span>
        </article>
      ))}
    </section>
  );
}
