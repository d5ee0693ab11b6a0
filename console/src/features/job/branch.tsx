import { Button, Textarea } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { post } from "../../api/client";
import type { Job } from "../../api/types";
import { Diff } from "../../shared/code/code";
import { Failed } from "../../shared/page/loading-states";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";
import { inputFrom, type Attempt, type Start } from "./branch-input";

const WORKBENCH: Readonly<Record<string, string>> = { transform: "/transform", search: "/search" };

/** A way on from an attempt: another task on its result, its code or its queries as one changes them. The new job opens in its workbench. */
export function BranchFrom({ job, attempt }: { job: Job; attempt: Attempt }) {
  const [url, change] = useUrl();
  const navigate = useNavigate();
  const run = useMutation({
    mutationFn: (start: Start) => post<Job>("/v1/jobs", { kind: job.kind, input: inputFrom(job, attempt, start) }),
    onSuccess: (made) => navigate({ to: WORKBENCH[job.kind]!, search: { job: made.id } as never }),
  });
  if (WORKBENCH[job.kind] === undefined || (job.kind === "transform" && !attempt.code)) return null;
  const open = url.branch === String(attempt.number);
  return (
    <div className="tight">
      <span className="bar">
        {job.kind === "search" ? (
          <WriteButton variant="default" loading={run.isPending} title="Runs these queries without a model's plan; they can be edited in the workbench" onClick={() => run.mutate({})}>
            Branch from here
          </WriteButton>
        ) : (
          <Button variant="default" aria-expanded={open} onClick={() => change({ branch: open ? null : String(attempt.number) })}>
            Branch from here…
          </Button>
        )}
      </span>
      {run.error === null ? null : <Failed error={run.error} />}
      {open && job.kind === "transform" ? <Ways job={job} attempt={attempt} busy={run.isPending} onRun={(start) => run.mutate(start)} /> : null}
    </div>
  );
}

function Ways({ job, attempt, busy, onRun }: { job: Job; attempt: Attempt; busy: boolean; onRun: (start: Start) => void }) {
  const [task, setTask] = useState("");
  const [code, setCode] = useState(attempt.code ?? "");
  const goesOn = job.result !== null && attempt.outcome === "result";
  return (
    <div className="cols even" role="group" aria-label={`Branch from attempt ${attempt.number}`}>
      <div className="tight">
        <Textarea
          label="Next task"
          description={goesOn ? "Table is the first data set, and a model continues from there" : job.result === null ? "The job has no result: only its code can be run again" : "This attempt made no table: only its code can be run again"}
          autosize
          minRows={3}
          disabled={!goesOn}
          value={task}
          onChange={(event) => setTask(event.currentTarget.value)}
        />
        <span>
          <WriteButton loading={busy} disabled={!goesOn || task.trim() === ""} onClick={() => onRun({ task: task.trim() })}>
            Run task
          </WriteButton>
        </span>
      </div>
      <div className="tight">
        <Textarea label="Code of this attempt" description="Runs on the job's data, without a model" autosize minRows={3} maxRows={24} spellCheck={false} classNames={{ input: "mono" }} value={code} onChange={(event) => setCode(event.currentTarget.value)} />
        {code === attempt.code ? null : <Diff before={attempt.code ?? ""} after={code} />}
        <span>
          <WriteButton variant="default" loading={busy} disabled={code.trim() === ""} onClick={() => onRun({ code })}>
            Run code
          </WriteButton>
        </span>
      </div>
    </div>
  );
}
