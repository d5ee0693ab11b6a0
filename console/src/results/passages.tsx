import type { SearchResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { segmentsOf } from "./segments";

type Hit = SearchResult["hits"][string][number];
export type Passage = NonNullable<Hit["passages"]>[number];
export type Citation = SearchResult["citations"][number];

/** The passages of a hit: the best one, and the others on request. */
export function Passages({ table, hit, citations }: { table: string; hit: Hit; citations: readonly Citation[] }) {
  const [best, ...others] = hit.passages ?? [];
  if (best === undefined) {
    return null;
  }
  const own = citations.filter((citation) => citation.table === table && citation.id === hit.id);
  const shown = (passage: Passage) => <PassageText key={passageId(table, hit.id, passage)} id={passageId(table, hit.id, passage)} passage={passage} citations={own} />;
  const citedLater = others.some((passage) => own.some((citation) => holds(passage, citation)));
  return (
    <div className="tight">
      {shown(best)}
      {others.length === 0 ? null : (
        <details open={citedLater}>
          <summary>{others.length === 1 ? "1 more passage" : `${others.length} more passages`}</summary>
          {others.map(shown)}
        </details>
      )}
    </div>
  );
}

function PassageText({ id, passage, citations }: { id: string; passage: Passage; citations: readonly Citation[] }) {
  const cited = citations
    .filter((citation) => holds(passage, citation))
    .map(({ start, end }) => ({ start: (start ?? 0) - passage.start, end: (end ?? 0) - passage.start }));
  const place = [
    passage.page === null ? null : `Page ${passage.page}`,
    passage.heading,
    passage.facet,
    `Characters ${passage.start.toLocaleString("en")} to ${passage.end.toLocaleString("en")}`,
  ].filter((part) => part !== null);
  return (
    <blockquote id={id} className="passage">
      <p className="muted small">{visible(place.join(", "))}</p>
      <p className="wrapped">
        {segmentsOf(passage.text, passage.highlights, cited).map((segment, index) => {
          const text = segment.marked ? <mark>{visible(segment.text)}</mark> : visible(segment.text);
          return segment.cited ? <b key={index}>{text}</b> : <span key={index}>{text}</span>;
        })}
      </p>
    </blockquote>
  );
}

/** Where a citation leads: to its passage if that is shown, else to its record. */
export function citedId(result: SearchResult, citation: Citation): string {
  const hit = result.hits[citation.table]?.find((each) => each.id === citation.id);
  const passage = hit?.passages?.find((each) => holds(each, citation));
  return passage === undefined ? hitId(citation.table, citation.id) : passageId(citation.table, citation.id, passage);
}

export function hitId(table: string, id: string): string {
  return `hit-${encodeURIComponent(`${table}-${id}`)}`;
}

function passageId(table: string, id: string, passage: Passage): string {
  return `${hitId(table, id)}-${encodeURIComponent(passage.facet ?? "")}-${passage.start}`;
}

function holds(passage: Passage, { facet, start, end }: Citation): boolean {
  return typeof start === "number" && typeof end === "number" && (facet ?? null) === passage.facet && passage.start <= start && end <= passage.end;
}
