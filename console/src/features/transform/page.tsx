import { Button, NumberInput, Select, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { post } from "../../api/client";
import { jobQuery } from "../../api/queries";
import type { Job, TransformResult } from "../../api/types";
import { FollowedJob } from "../../results/follow";
import { attemptsOf, RepairStrip, TransformResultView } from "../../results/transform";
import { useDraft } from "../../shared/draft";
import { Empty, Failed } from "../../shared/states";
import { useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";
import { WriteButton } from "../../shared/write";
import { Readiness } from "../../shared/ready";
import { Accepted } from "./accepted";
import { AssertionPart } from "./assertions";
import { DataPart } from "./data";
import { draftOf, inputOf, START, type Draft } from "./draft";

export function Page() {
  useTitle("Transform");
  const [url, change] = useUrl();
  const [draft, setDraft] = useDraft<Draft>("transform", START);
  const job = useQuery({ ...jobQuery(url.job ?? ""), enabled: url.job !== undefined }).data;
  const opened = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (job === undefined || job.kind !== "transform" || opened.current === job.id) return;
    // A job that was opened by its address fills the form; one that was submitted from here came from it.
    if (opened.current === undefined && draft.task !== String((job.input as { task?: string } | null)?.task)) setDraft(draftOf(job));
    opened.current = job.id;
  }, [job, draft.task, setDraft]);
  const run = useMutation({
    mutationFn: (more: Record<string, unknown>) => {
      const { conversation_id, ...input } = more;
      return post<Job>("/v1/jobs", { kind: "transform", input: inputOf(draft, input), ...(conversation_id === undefined ? {} : { conversation_id }) });
    },
    onSuccess: (made) => {
      opened.current = made.id;
      change({ job: made.id, on: null });
    },
  });
  const result = (job?.result ?? null) as unknown as TransformResult | null;
  const addAssertion = (text: string): void => setDraft((now) => ({ ...now, assertions: [...new Set([...now.assertions, text])] }));
  return (
    <>
      <div className="head">
        <h1>Transform</h1>
        <span className="muted">a task in words, code that is run and checked</span>
        <span className="spacer" />
        <Button
          variant="subtle"
          onClick={() => {
            setDraft(START);
            opened.current = undefined;
            change({ job: null, on: null });
          }}
        >
          Start anew
        </Button>
      </div>
      <Readiness kind="transform" />
      <div className="cols">
        <div className="stack">
          <DataPart draft={draft} change={setDraft} />
          <Textarea label="Task" placeholder="Total amount by region, largest first" autosize minRows={3} maxRows={10} value={draft.task} onChange={(event) => setDraft({ ...draft, task: event.currentTarget.value })} />
          <AssertionPart draft={draft} change={setDraft} checks={result?.assertions ?? []} />
          <Options draft={draft} setDraft={setDraft} />
          <div className="bar">
            <WriteButton loading={run.isPending} disabled={draft.task.trim() === "" || draft.data.length === 0} onClick={() => run.mutate({})}>
              Run
            </WriteButton>
            {result?.code ? (
              <WriteButton variant="default" disabled={draft.assertions.length === 0} title="Runs the code that is there, without a model" onClick={() => run.mutate({ code: result.code })}>
                Try the assertions on this result
              </WriteButton>
            ) : null}
          </div>
          {run.error === null ? null : <Failed error={run.error} />}
        </div>
        <div className="stack">
          {url.job === undefined ? (
            <Empty title="Every attempt stands here, as it happens">
              <span className="muted">The code that the model proposes, what happened when it ran, and what it did to your data.</span>
            </Empty>
          ) : (
            <FollowedJob id={url.job}>
              {(followed, events) => (
                <>
                  {followed.result ? <TransformResultView result={followed.result as unknown as TransformResult} onAssert={addAssertion} /> : null}
                  {followed.result ? <Accepted job={followed} draft={draft} submit={(more) => run.mutate(more)} ask={(task) => setDraft((now) => ({ ...now, task }))} /> : null}
                  <RepairStrip attempts={attemptsOf(followed, events)} />
                </>
              )}
            </FollowedJob>
          )}
        </div>
      </div>
    </>
  );
}

function Options({ draft, setDraft }: { draft: Draft; setDraft: (draft: Draft) => void }) {
  return (
    <div className="bar">
      <Select label="Language" data={["python", "r", "sql"]} value={draft.language} onChange={(value) => setDraft({ ...draft, language: value as Draft["language"] })} w={110} />
      <Select label="Result" data={["table", "plot"]} value={draft.output} onChange={(value) => setDraft({ ...draft, output: value as Draft["output"] })} w={100} />
      <NumberInput label="Model calls at most" min={1} max={20} value={draft.rounds} onChange={(rounds) => setDraft({ ...draft, rounds: Number(rounds) })} w={140} />
    </div>
  );
}
