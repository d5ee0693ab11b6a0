import { Button } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../../api/client";
import type { FileRows } from "../../api/types";
import { visible } from "../code/ansi";
import { cell, count } from "../values/numbers";
import { Failed, Loading } from "../page/loading-states";
import { ColumnHead } from "./column-head";
import { scrollEnd } from "./scroll-end";
import { sortOf } from "./sorting";
import { alignment } from "./table";

const PAGE = 100;

/** A file that is a table, page by page as the server reads it; a click on a column's name sorts by it. */
export function FileTable({ fileId, label, hints }: { fileId: string; label: string; hints?: ReadonlyMap<string, string> }) {
  const [offset, setOffset] = useState(0);
  const [sort, setSort] = useState<string | null>(null);
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ["file-rows", fileId, offset, sort],
    queryFn: ({ signal }) => get<FileRows>(`/v1/files/${fileId}/rows`, { offset, limit: PAGE, sort: sort === null ? undefined : [sort] }, signal),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });
  if (error) return <Failed error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const by = (name: string): void => {
    setOffset(0);
    setSort(sort === name ? `-${name}` : sort === `-${name}` ? null : name);
  };
  return (
    <div className="tight" aria-busy={isFetching}>
      <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label={label}>
        <table className="grid-table mono">
          <thead>
            <tr>
              {data.columns.map((column) => (
                <th key={column.name} scope="col" className={alignment(column.type)} title={hints?.get(column.name)} aria-sort={sort === column.name ? "ascending" : sort === `-${column.name}` ? "descending" : undefined}>
                  <ColumnHead name={visible(column.name)} sort={sort === null ? null : sortOf(sort)} onSort={() => by(column.name)} />{" "}
                  <span className="muted">{column.type}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.rows.map((row, index) => (
              <tr key={index}>
                {row.map((value, place) => (
                  <td key={place} className={alignment(data.columns[place]?.type)} title={hints?.get(data.columns[place]?.name ?? "")}>{value === null ? <span className="muted">null</span> : visible(cell(value).slice(0, 500))}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <span className="bar">
        <Button variant="default" disabled={data.offset === 0} onClick={() => setOffset(Math.max(0, data.offset - PAGE))}>
          Previous
        </Button>
        <Button variant="default" disabled={data.next_offset === null} onClick={() => setOffset(data.next_offset ?? 0)}>
          Next
        </Button>
        <span className="muted">
          {data.rows.length === 0 ? 0 : count(data.offset + 1)} to {count(data.offset + data.rows.length)} of {count(data.row_count)} rows
        </span>
      </span>
    </div>
  );
}
