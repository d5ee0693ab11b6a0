import { Button } from "@mantine/core";
import type { Job, TransformResult } from "../../api/types";
import { visible } from "../../shared/ansi";
import { Code } from "../../shared/code";
import { download } from "../../shared/json";
import { FileDrop } from "../../shared/upload";
import { Ask } from "./ask";
import type { Draft } from "./draft";

interface Props {
  job: Job;
  draft: Draft;
  submit: (more: Record<string, unknown>) => void;
  ask: (task: string) => void;
}

const ENDINGS: Readonly<Record<string, string>> = { python: "py", r: "R", sql: "sql" };

/** What can be done with code that works: keep it, run it on other data without a model, or ask on. */
export function Accepted({ job, draft, submit, ask }: Props) {
  const result = job.result as unknown as TransformResult;
  const runOn = (fileId: string): void => {
    const [first, ...others] = draft.data;
    if (first === undefined) return;
    const rest = others.map(({ name, fileId: id, csv }) => (id === null ? { name, csv } : { name, file_id: id }));
    const expects = Object.fromEntries((result.inputs ?? []).map((input) => [input.name, input.columns]));
    submit({ code: result.code, expects, data: [{ name: first.name, file_id: fileId }, ...rest] });
  };
  return (
    <section className="panel stack" aria-label="The accepted code">
      <div className="head">
        <h3>The code</h3>
        <span className="spacer" />
        <Button variant="default" onClick={() => download(result.code, `transform.${ENDINGS[draft.language] ?? "txt"}`)}>
          Keep the code
        </Button>
      </div>
      <Code text={result.code} />
      <DriftList result={result} />
      <FileDrop label="Run on new data, without a model" many={false} files={[]} onChange={(files) => files[0] && runOn(files[0].id)} />
      <Ask
        label={result.status === "question" ? "Answer the question" : "Ask on: the result is the next task's data"}
        button={result.status === "question" ? "Answer" : "Ask on"}
        onAsk={ask}
      />
    </section>
  );
}

/** How the data differs from what the code was made for. */
function DriftList({ result }: { result: TransformResult }) {
  const drift = result.drift ?? [];
  if (drift.length === 0) return null;
  return (
    <div className="callout warn">
      <b>The data is not what the code was made for</b>
      {drift.map((each) => (
        <div key={`${each.data}.${each.column}`}>
          <code>
            {visible(each.data)}.{visible(each.column)}
          </code>{" "}
          {each.change === "type" ? `is ${each.found ?? "?"} and was ${each.expected ?? "?"}` : each.change === "missing" ? "is missing" : "is new"}
        </div>
      ))}
    </div>
  );
}
