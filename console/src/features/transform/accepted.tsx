import { Button } from "@mantine/core";
import type { Job, TransformResult } from "../../api/types";
import { Code } from "../../shared/code/code";
import { download } from "../../shared/files/download";
import { NextTask } from "./next-task";
import type { Draft } from "./draft";
import { DriftList, NewData } from "./new-data";

interface Props {
  job: Job;
  draft: Draft;
  submit: (more: Record<string, unknown>) => void;
  ask: (task: string) => void;
}

const ENDINGS: Readonly<Record<string, string>> = { python: "py", r: "R", sql: "sql" };

/** What can be done with code that works: keep it, run it on other data without a model, or follow up on it. */
export function Accepted({ job, draft, submit, ask }: Props) {
  const result = job.result as unknown as TransformResult;
  const runOn = (fileId: string): void => {
    const [first, ...others] = draft.data;
    if (first === undefined) return;
    const rest = others.map(({ name, fileId: id, csv, reading }) => (id === null ? { name, csv, ...reading } : { name, file_id: id, ...reading }));
    const expects = Object.fromEntries((result.inputs ?? []).map((input) => [input.name, input.columns]));
    submit({ code: result.code, expects, data: [{ name: first.name, file_id: fileId }, ...rest] });
  };
  return (
    <section className="panel stack" aria-label="The accepted code">
      <div className="head">
        <h3>The code</h3>
        <span className="spacer" />
        <Button variant="default" onClick={() => download(result.code, `transform.${ENDINGS[draft.language] ?? "txt"}`)}>
          Save code
        </Button>
      </div>
      <Code text={result.code} />
      <DriftList drift={result.drift ?? []} />
      <NewData input={result.inputs?.find((input) => input.name === draft.data[0]?.name) ?? result.inputs?.[0]} run={runOn} />
      <NextTask
        label={result.status === "question" ? "Answer the question" : "Follow up on this result"}
        button={result.status === "question" ? "Answer" : "Ask on"}
        onAsk={ask}
      />
    </section>
  );
}
