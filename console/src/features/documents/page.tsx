import { Button, Select } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { post } from "../../api/client";
import type { DocumentResult, Job } from "../../api/types";
import { ResultView } from "../../results";
import { JobSide, useWorkbenchJob } from "../../results/workbench";
import { useDraft } from "../../shared/editing/draft";
import { CodeEditor } from "../../shared/code/editor";
import type { EditorHandle } from "../../shared/code/editor-props";
import { download } from "../../shared/files/download";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";
import { Readiness } from "../../shared/page/readiness";
import { namesIn } from "./names";
import { Parameters } from "./parameters";
import { SinceLastRun } from "./run-difference";
import { LookBar, marksOf, useLook } from "./stale";

// Of use once there is a result.
const Answers = lazy(() => import("./answers").then((module) => ({ default: module.Answers })));

interface Draft {
  markdown: string;
  flavour: "stencila" | "quarto" | "myst";
  files: Uploaded[];
  parameters: Record<string, string>;
}

const START: Draft = {
  markdown: "# A first document\n\n```python exec\nnumbers = [3, 1, 2]\ntotal = sum(numbers)\nsorted(numbers)\n```\n\nThe total is `total`{python exec}.\n",
  flavour: "stencila",
  files: [],
  parameters: {},
};

const FIELDS = ["input.markdown", "input.files", "input.parameters"];

export function Page() {
  useTitle("Documents");
  const [draft, setDraft] = useDraft<Draft>("document", START);
  const { id, job: past, show } = useWorkbenchJob("document", (opened) => {
    const input = opened.input as unknown as { markdown?: string; flavour?: Draft["flavour"]; files?: { id: string; path: string }[] };
    setDraft((now) => ({ ...now, markdown: input.markdown ?? now.markdown, flavour: input.flavour ?? "stencila", files: (input.files ?? []).map((file) => ({ id: file.id, name: file.path, size: 0 })) }));
  });
  const run = useMutation({
    mutationFn: (more: { execute?: "stale" | "all"; dry_run?: boolean }) => post<Job>("/v1/jobs", { kind: "document", input: { ...inputOf(draft), ...more, ...(past?.state === "succeeded" ? { previous_job_id: past.id } : {}) } }),
    onSuccess: (job) => {
      look.forget();
      show(job, { before: id ?? null });
    },
  });
  const sent = (more: object): boolean => run.isPending && JSON.stringify(run.variables) === JSON.stringify(more);
  const faults = faultsOf(run.error, FIELDS);
  const result = (past?.result ?? null) as unknown as DocumentResult | null;
  const [url] = useUrl();
  const [editor, setEditor] = useState<EditorHandle | null>(null); // there when its parts are loaded
  const goTo = (line: number): void => editor?.goTo(line);
  const look = useLook(inputOf(draft), past?.state === "succeeded" ? past : undefined);
  const blocks = look.blocks ?? result?.blocks;
  const marks = useMemo(() => marksOf(blocks ?? []), [blocks]);
  const known = useMemo(() => (result?.blocks ?? []).flatMap((block) => (block.variables ?? []).map(({ name }) => name)), [result]);
  const names = useMemo(() => namesIn(draft.markdown, known), [draft.markdown, known]);
  return (
    <>
      <div className="head">
        <div className="title">
          <h1>Documents</h1>
          <p>Markdown with runnable code and prompts</p>
        </div>
      </div>
      <Readiness kind="document" />
      <div className="cols even">
        <div className="stack stay">
          <div className="bar">
            <Select aria-label="Markdown dialect" data={["stencila", "quarto", "myst"]} value={draft.flavour} onChange={(flavour) => setDraft({ ...draft, flavour: flavour as Draft["flavour"] })} w={110} />
            <WriteButton loading={sent({})} onClick={() => run.mutate({})}>
              Run changed blocks
            </WriteButton>
            <WriteButton variant="default" loading={sent({ execute: "all" })} onClick={() => run.mutate({ execute: "all" })}>
              Run all
            </WriteButton>
            <WriteButton variant="default" loading={sent({ dry_run: true })} onClick={() => run.mutate({ dry_run: true })}>
              Dry run
            </WriteButton>
            <Button variant="default" onClick={() => download(draft.markdown, "document.md")}>
              Download .md
            </Button>
          </div>
          {run.error === null ? null : <Failed error={run.error} faults={faults} />}
          <CodeEditor label="Markdown" language="markdown" value={draft.markdown} onChange={(markdown) => setDraft((now) => ({ ...now, markdown }))} minHeight={420} marks={marks} handle={setEditor} names={names} error={faults.at("input.markdown")} />
          <LookBar look={look} disabled={past?.state !== "succeeded"} onLine={goTo} />
          <Parameters schema={result?.parameters_schema} error={faults.at("input.parameters")} values={draft.parameters} onChange={(parameters) => setDraft({ ...draft, parameters })} />
          <FileDrop label="Add files" preview error={faults.at("input.files")} files={draft.files} onChange={(files) => setDraft({ ...draft, files })} />
        </div>
        <JobSide id={id} kind="document" empty="The page will appear here" hint="With the outputs of each block, each prompt with its answer, and the source of each value.">
          {(job) =>
            job.result && job.kind === "document" ? (
              <>
                {edited(job, draft.markdown) ? <p className="callout">The document has changed since this run.</p> : null}
                <SinceLastRun before={url.before} job={job} />
                <ResultView
                  job={job}
                  onLine={goTo}
                  beside={editor}
                  below={
                    <Suspense>
                      <Answers key={job.id} draft={draft.markdown} answered={(job.result as unknown as DocumentResult).markdown} onTake={(markdown) => setDraft((now) => ({ ...now, markdown }))} />
                    </Suspense>
                  }
                />
              </>
            ) : null
          }
        </JobSide>
      </div>
    </>
  );
}

/** Whether the editor has another text than the job was given, and than it gave back with its answers. */
function edited(job: Job, markdown: string): boolean {
  const sent = (job.input as { markdown?: string } | null)?.markdown;
  return sent !== undefined && markdown !== sent && markdown !== (job.result as unknown as DocumentResult).markdown;
}

function inputOf(draft: Draft): Record<string, unknown> {
  const parameters = Object.fromEntries(
    Object.entries(draft.parameters)
      .filter(([, value]) => value !== "")
      .map(([name, value]) => [name, /^(-?\d+(\.\d+)?|true|false)$/.test(value) ? (JSON.parse(value) as unknown) : value]),
  );
  return { markdown: draft.markdown, flavour: draft.flavour, files: draft.files.map((file) => ({ id: file.id, path: file.name })), parameters };
}
