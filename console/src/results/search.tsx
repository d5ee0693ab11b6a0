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
  const tone = result.verdict === "found" ? "good" : result.verdict === "weak" ? "warn" : "bad";
  return (
    <div className="bar">
      <Tag tone={tone}>{result.verdict.replace("_", " ")}</Tag>
      {confidence === null ? null : (
        <span className="bar">
          <span className="muted">unrelated</span>
          <meter min={0} max={1} value={confidence} aria-label={`Confidence ${confidence.toFixed(2)}, from 0 (like an unrelated record) to 1 (like an answer)`} />
          <span className="muted">answer ({confidence.toFixed(2)})</span>
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

function Hits({ table, hits, citations }: { table: string; hits: readonly Hit[]; citations: readonly Citation[] }) {
  const best = Math.max(...hits.map((hit) => hit.score), 0.0001);
  return (
    <section aria-label={`Hits in ${table}`}>
      <h3>
        {visible(table)} <span className="muted">{hits.length} hits</span>
      </h3>
      {hits.length === 0 ? <p className="muted">None.</p> : null}
      <div className="tight">
        {hits.map((hit) => (
          <div key={hit.id} id={hitId(table, hit.id)} className="panel tight hit">
            <div className="bar">
              <b>{visible(hit.name || hit.id)}</b>
              {hit.name === hit.id ? null : <span className="mono muted">{visible(hit.id)}</span>}
              <Tag tone={hit.label === "exact" ? "good" : "warn"}>{hit.label}</Tag>
              {hit.weak ? <Tag tone="warn">weak</Tag> : null}
              <span className="muted">attempt {hit.attempt ?? 1}</span>
              <span className="spacer" />
              <meter min={0} max={best} value={hit.score} aria-label={`Score ${hit.score}`} />
              <span className="num mono">{hit.score.toFixed(3)}</span>
              {hit.similarity === null || hit.similarity === undefined ? null : <span className="muted">
                  similarity <span className="mono">{hit.similarity.toFixed(3)}</span>
                </span>}
            </div>
            <Passages table={table} hit={hit} citations={citations} />
            <div className="chips">
              {hit.facets.map((facet) => (
                <span key={facet.key}>
                  similar in {visible(facet.key)} <b>{facet.score.toFixed(2)}</b>
                </span>
              ))}
              {Object.entries(hit.fields).map(([name, value]) => (
                <span key={name}>
                  {visible(name)} <b>{visible(cell(value).slice(0, 200))}</b>
                </span>
              ))}
            </div>
          </div>
        ))}
      </div>
    </section>
  );
}
