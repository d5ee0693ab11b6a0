import { useQuery } from "@tanstack/react-query";
import { jobQuery } from "../../api/queries";
import { TERMINAL, type Job, type SearchResult } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { compared, type Place } from "./wordings";
import { SortedTable } from "../../shared/tables/sorted-table";

/** What two wordings of a question hit, and which hits only one of them has. */
export function WordingComparison({ first, secondId }: { first: Job; secondId: string }) {
  const second = useQuery({ ...jobQuery(secondId), refetchInterval: ({ state }) => (state.data !== undefined && TERMINAL.has(state.data.state) ? false : 1_000) }).data;
  if (second !== undefined && second.kind !== "search") return null;
  return (
    <section className="panel stack" aria-label="Two wordings">
      <h3>Two wordings</h3>
      <ol className="tight">
        <li>{wordsOf(first)}</li>
        <li>{second === undefined ? secondId : wordsOf(second)}</li>
      </ol>
      <span className="muted">The answer and hits below are of the first wording.</span>
      {second === undefined || !TERMINAL.has(second.state) ? <span className="muted">The second one is at work.</span> : null}
      {second?.error ? <p className="callout bad">{visible(second.error.detail)}</p> : null}
      {first.result && second?.result ? <Table first={first.result as unknown as SearchResult} second={second.result as unknown as SearchResult} /> : null}
    </section>
  );
}

function wordsOf(job: Job): string {
  return visible((job.input as unknown as { question: string }).question);
}

function Table({ first, second }: { first: SearchResult; second: SearchResult }) {
  const rows = compared(first, second);
  const both = rows.filter((row) => row.first !== null && row.second !== null).length;
  return (
    <>
      <div className="bar">
        <Tag tone={both === rows.length ? "good" : "warn"}>
          {both} of {rows.length} hits are of both
        </Tag>
        <span className="muted">
          the first: {first.verdict.replace("_", " ")}, the second: {second.verdict.replace("_", " ")}
        </span>
      </div>
      {rows.length === 0 ? null : (
        <SortedTable
          id="wordings"
          label="Hits of both wordings"
          columns={[
            { name: "Record", by: (row) => row.name },
            { name: "Table", by: (row) => row.table },
            { name: "First", num: true, by: (row) => row.first?.score },
            { name: "Second", num: true, by: (row) => row.second?.score },
          ]}
          items={rows}
          row={(row) => (
            <tr key={`${row.table} ${row.id}`}>
              <td>
                {visible(row.name)} <span className="mono muted">{visible(row.id)}</span>
              </td>
              <td>{visible(row.table)}</td>
              <PlaceCell place={row.first} />
              <PlaceCell place={row.second} />
            </tr>
          )}
        />
      )}
    </>
  );
}

function PlaceCell({ place }: { place: Place | null }) {
  return (
    <td className="num">
      {place === null ? (
        <span className="warn">not hit</span>
      ) : (
        <>
          {place.rank}. <span className="muted">{place.score.toFixed(3)}</span>
        </>
      )}
    </td>
  );
}
