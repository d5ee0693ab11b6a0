import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, type ReactNode } from "react";
import { post } from "../api/client";
import { useJobEvents } from "../api/events";
import { useJob } from "../api/queries";
import { TERMINAL, type Job, type JobEvent } from "../api/types";
import { visible } from "../shared/code/ansi";
import { useAnnounced } from "../shared/page/announce";
import { JobMark, LiveTag } from "../shared/values/marks";
import { Loaded } from "../shared/page/loading-states";
import { cost } from "../shared/values/numbers";
import { between, took } from "../shared/values/time";
import { stateOf } from "../shared/values/states";
import { WriteButton } from "../shared/editing/write-button";
import { DemoModel, Warnings } from "./warnings";

/** A workbench's right side: the job it submitted, live, with its error first. */
export function FollowedJob({ id, children }: { id: string; children: (job: Job, events: readonly JobEvent[]) => ReactNode }) {
  const query = useJob(id);
  return <Loaded query={query}>{(job) => <Followed job={job}>{children}</Followed>}</Loaded>;
}

function Followed({ job, children }: { job: Job; children: (job: Job, events: readonly JobEvent[]) => ReactNode }) {
  const { events, liveness } = useJobEvents(job.id);
  const client = useQueryClient();
  const last = events.at(-1);
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ["job", job.id] });
  }, [client, job.id, last?.type]);
  useAnnounced(`${job.kind} ${stateOf(job).word.toLowerCase()}`, job.id);
  const cancel = useMutation({ mutationFn: () => post<Job>(`/v1/jobs/${job.id}/cancel`) });
  const thinking = [...events].reverse().find((event) => event.type === "thinking");
  return (
    <div className="stack">
      <div className="bar">
        <JobMark job={job} />
        <DemoModel warnings={job.warnings} />
        <LiveTag liveness={liveness} />
        {TERMINAL.has(job.state) ? (
          <span className="muted">
            {took(between(job.started_at, job.finished_at))}
            {job.usage?.llm_calls ? `, ${cost(job.usage.cost_usd)}` : null}
          </span>
        ) : (
          <>
            <span className="muted">{thinking === undefined ? "" : visible(String(thinking.message))}</span>
            <WriteButton variant="light" color="red" loading={cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel
            </WriteButton>
          </>
        )}
        <span className="spacer" />
        <Link to="/jobs/$id" params={{ id: job.id }} className="plain">
          Open full job
        </Link>
      </div>
      {job.error ? (
        <div className="callout bad tight" role="alert">
          <b>{job.error.title}</b>
          <span>{visible(job.error.detail ?? "")}</span>
          <a className="plain mono" href={`/docs/errors#${job.error.code}`}>
            {job.error.code}
          </a>
        </div>
      ) : null}
      <Warnings of={job.warnings} />
      {children(job, events)}
    </div>
  );
}
