import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { FileRows, Job } from "../../api/types";
import type { Rows } from "../../results/attempt-diff";
import { headOf } from "../../shared/tables/csv";

const MAX_ROWS = 1000;

interface DataSet {
  name: string;
  file_id?: string | null;
  csv?: string | null;
}

/** The first rows of a job's first data set, which its attempts are compared with; null where the server does not read its form. */
export function useInputTable(job: Job | undefined): (Rows & { name: string }) | null {
  const data = (job?.input as { data?: DataSet[] } | null | undefined)?.data?.[0];
  const fileId = data?.file_id ?? null;
  const file = useQuery({
    queryKey: ["file-rows", fileId, "input"],
    queryFn: () => get<FileRows>(`/v1/files/${fileId}/rows`, { limit: MAX_ROWS }),
    enabled: fileId !== null,
    staleTime: Infinity,
    retry: false,
  }).data;
  if (data === undefined) return null;
  if (data.csv) return typed(data.name, data.csv);
  return file === undefined ? null : { name: data.name, columns: file.columns, rows: file.rows, total: file.row_count };
}

/** Typed-in CSV as a table: numbers and missing values are read as the languages read them. */
export function typed(name: string, csv: string): (Rows & { name: string }) | null {
  const head = headOf(csv, MAX_ROWS);
  if (head === null) return null;
  const lines = csv.trimEnd().split("\n").length - 1;
  return {
    name,
    columns: head.columns.map((column) => ({ name: column })),
    rows: head.rows.map((row) => row.map(valueOf)),
    total: Math.max(lines, head.rows.length),
  };
}

function valueOf(text: string): unknown {
  if (text === "") return null;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : text;
}
