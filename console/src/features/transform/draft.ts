import type { Job, TransformResult } from "../../api/types";
import { readingOf, type ReadingOptions } from "../../shared/files/reading";
import { headOf, type Head } from "../../shared/tables/csv";

export interface DataDraft {
  name: string;
  fileId: string | null;
  csv: string | null;
  label: string;
  head: Head | null;
  /** How the file is written, where it is stated. */
  reading?: ReadingOptions;
}

export interface Draft {
  task: string;
  data: DataDraft[];
  language: "python" | "r" | "sql";
  output: "table" | "plot";
  rounds: number;
  /** provider/model; null: Default model. */
  model: string | null;
  seconds: number | null;
  tokens: number | null;
  rows: number;
  mask: string[];
  assertions: string[];
}

export const START: Draft = { task: "", data: [], language: "python", output: "table", rounds: 5, model: null, seconds: null, tokens: null, rows: 5, mask: [], assertions: [] };

export const SAMPLE = {
  task: "Total amount and number of orders by region, largest total first",
  csv: "region,email,amount,day\nnorth,ada@example.org,120.50,2026-03-01\nsouth,bo@example.org,80.00,2026-03-01\nnorth,cy@example.org,40.25,2026-03-02\neast,di@example.org,99.90,2026-03-02\nsouth,ed@example.org,15.00,2026-03-03\n",
};

/** The form as an input of the kind; `code` runs without a model. */
export function inputOf(draft: Draft, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    task: draft.task,
    data: draft.data.map(({ name, fileId, csv, reading }) => (fileId === null ? { name, csv, ...reading } : { name, file_id: fileId, ...reading })),
    language: draft.language,
    output: draft.output,
    max_iterations: draft.rounds,
    preview: { rows: draft.rows, mask: draft.mask },
    assertions: draft.output === "plot" ? [] : draft.assertions,
    ...more,
  };
}

/** The form as a job; `more` are other parts of the input, and the conversation that it continues. */
export function jobOf(draft: Draft, { conversation_id, ...input }: Record<string, unknown> = {}): Record<string, unknown> {
  const budget = { ...(draft.seconds === null ? {} : { seconds: draft.seconds }), ...(draft.tokens === null ? {} : { tokens: draft.tokens }) };
  return {
    kind: "transform",
    input: inputOf(draft, input),
    budget,
    ...(draft.model === null ? {} : { model: draft.model }),
    ...(conversation_id === undefined ? {} : { conversation_id }),
  };
}

/** A past job in the form, so that it can be changed and run again. */
export function draftOf(job: Job): Draft {
  const { seconds = null, tokens = null } = (job.budget ?? {}) as { seconds?: number; tokens?: number };
  const input = (job.input ?? {}) as Record<string, never> & {
    data?: { name: string; file_id?: string; csv?: string; rows?: unknown[] }[];
    preview?: { rows?: number; mask?: string[] };
  };
  const inputs = (job.result as unknown as TransformResult | null)?.inputs ?? [];
  return {
    ...START,
    task: String(input.task ?? ""),
    data: (input.data ?? []).map((each) => {
      const seen = inputs.find((one) => one.name === each.name);
      return {
        name: each.name,
        fileId: each.file_id ?? null,
        csv: each.csv ?? null,
        reading: readingOf(each),
        label: each.file_id === undefined ? "typed in" : "From the opened job",
        head: each.csv !== undefined ? headOf(each.csv) : seen === undefined ? null : { columns: seen.columns.map((column) => column.name), rows: [] },
      };
    }),
    language: (input.language ?? "python") as Draft["language"],
    output: (input.output ?? "table") as Draft["output"],
    rounds: Number(input.max_iterations ?? 5),
    model: (job.overrides?.model as string | undefined) ?? null,
    seconds,
    tokens,
    rows: input.preview?.rows ?? 5,
    mask: input.preview?.mask ?? [],
    assertions: (input.assertions ?? []) as string[],
  };
}
