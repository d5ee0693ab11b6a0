import { Button, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { WandSparkles } from "lucide-react";
import { lazy, Suspense, useEffect, useRef } from "react";
import { post } from "../../api/client";
import { jobQuery } from "../../api/queries";
import type { Job, TransformResult } from "../../api/types";
import { FollowedJob } from "../../results/followed-job";
import { RecentJobs } from "../../results/recent-jobs";
import { attemptsOf } from "../../results/transform";
import { useDraft } from "../../shared/editing/draft";
import { faultsOf } from "../../shared/editing/field-errors";
import { Empty, Failed, Loading } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { RunKeys, runKey } from "../../shared/editing/run-key";
import { WriteButton } from "../../shared/editing/write-button";
import { Readiness } from "../../shared/page/readiness";
import { AssertionPart } from "./assertions";
import { Attempts } from "./attempts";
import { DataPart } from "./data";
import { draftOf, jobOf, START, type Draft } from "./draft";
import { Options } from "./options";

// Of use once there is a result.
const TransformResultView = lazy(() => import("../../results/transform-result").then((module) => ({ default: module.TransformResultView })));
const Accepted = lazy(() => import("./accepted").then((module) => ({ default: module.Accepted })));

const FIELDS = ["input.task", "input.data", "input.assertions", "input.preview.rows", "input.language", "input.output", "input.max_iterations", "model", "budget.seconds", "budget.tokens"];

export function Page() {
  useTitle("Transform");
  const [url, change] = useUrl();
  const [kept, setDraft] = useDraft<Draft>("transform", START);
  // What was kept by an older page lacks what is new in the form.
  const draft = { ...START, ...kept };
  const job = useQuery({ ...jobQuery(url.job ?? ""), enabled: url.job !== undefined }).data;
  const opened = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (job === undefined || job.kind !== "transform" || opened.current === job.id) return;
    // A job that was opened by its address fills the form; one that was submitted from here came from it.
    if (opened.current === undefined && draft.task !== String((job.input as { task?: string } | null)?.task)) setDraft(draftOf(job));
    opened.current = job.id;
  }, [job, draft.task, setDraft]);
  const run = useMutation({
    mutationFn: (more: Record<string, unknown>) => post<Job>("/v1/jobs", jobOf(draft, more)),
    onSuccess: (made) => {
      opened.current = made.id;
      change({ job: made.id, on: null, attempt: null });
    },
  });
  const faults = faultsOf(run.error, FIELDS);
  const ready = draft.task.trim() !== "" && draft.data.length > 0;
  const result = (job?.result ?? null) as unknown as TransformResult | null;
  const addAssertion = (text: string): void => setDraft((now) => ({ ...now, assertions: [...new Set([...now.assertions, text])] }));
  const askOn = (from: Job, task: string, more: Record<string, unknown> = {}): void => {
    setDraft((now) => ({ ...now, task }));
    run.mutate({ task, conversation_id: from.conversation_id, ...more });
  };
  return (
    <>
      <div className="head">
        <h1>Transform</h1>
        <span className="muted">Describe a task; the model writes code and we verify it</span>
        <span className="spacer" />
        <Button
          variant="subtle"
          onClick={() => {
            setDraft(START);
            opened.current = undefined;
            change({ job: null, on: null, attempt: null });
          }}
        >
          New
        </Button>
      </div>
      <Readiness kind="transform" />
      <div className="cols">
        <div className="stack" onKeyDownCapture={runKey(() => run.mutate({}), ready && !run.isPending)}>
          <DataPart draft={draft} change={setDraft} faults={faults} />
          <Textarea label="Task" placeholder="Total amount by region, largest first" autosize minRows={3} maxRows={10} value={draft.task} error={faults.at("input.task")} onChange={(event) => setDraft({ ...draft, task: event.currentTarget.value })} />
          <AssertionPart draft={draft} change={setDraft} checks={result?.assertions ?? []} error={faults.at("input.assertions")} />
          <Options draft={draft} faults={faults} change={(part) => setDraft((now) => ({ ...now, ...part }))} />
          <div className="bar">
            <WriteButton loading={run.isPending} disabled={!ready} rightSection={<RunKeys />} onClick={() => run.mutate({})}>
              Run
            </WriteButton>
            {result?.code ? (
              <WriteButton variant="default" disabled={draft.assertions.length === 0} title="Runs the code that is there, without a model" onClick={() => run.mutate({ code: result.code })}>
                Run checks on this result
              </WriteButton>
            ) : null}
          </div>
          {run.error === null ? null : <Failed error={run.error} faults={faults} />}
        </div>
        <div className="stack">
          {url.job === undefined ? (
            <>
              <Empty title="Attempts will appear here as they happen" icon={WandSparkles}>
                The code that the model proposes, what happened when it ran, and what it did to your data.
              </Empty>
              <RecentJobs kind="transform" />
            </>
          ) : (
            <FollowedJob id={url.job}>
              {(followed, events) => (
                <>
                  {followed.result ? (
                    <Suspense fallback={<Loading />}>
                      <TransformResultView jobId={followed.id} result={followed.result as unknown as TransformResult} onAssert={addAssertion} />
                      <Accepted job={followed} draft={draft} submit={(more) => run.mutate(more)} ask={(task) => askOn(followed, task)} />
                    </Suspense>
                  ) : null}
                  <Attempts job={followed} attempts={attemptsOf(followed, events)} onBranch={(task, iteration) => askOn(followed, task, { branch: { job_id: followed.id, iteration } })} />
                </>
              )}
            </FollowedJob>
          )}
        </div>
      </div>
    </>
  );
}
