import { Link } from "@tanstack/react-router";
import { TERMINAL, type Job, type JobEvent } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { tierWords } from "../../shared/values/isolation";
import { DemoModel } from "../../results/warnings";
import { JobMark, Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { failedBlocks } from "../../shared/values/states";
import { between, took, useNow, When } from "../../shared/values/time";

/** What the job was, when it ran, who answered it, what it took, and which other jobs it belongs to. */
export function Facts({ job, events }: { job: Job; events: readonly JobEvent[] }) {
  const now = useNow(TERMINAL.has(job.state) ? 0 : 500);
  const end = job.finished_at ?? new Date(now).toISOString();
  return (
    <div className="chips">
      <JobMark job={job} />
      <FailedBlocks of={job} />
      <DemoModel warnings={job.warnings} />
      <span>
        <b>{job.kind}</b>
      </span>
      <span>
        Created <When at={job.created_at} />
        {job.actor_name ? ` by ${visible(job.actor_name)}` : ""}
      </span>
      <span>
        Queued <b>{took(between(job.created_at, job.started_at ?? end))}</b>
      </span>
      {job.started_at ? (
        <span>
          {TERMINAL.has(job.state) ? "Ran" : "Running for"} <b>{took(between(job.started_at, end))}</b>
        </span>
      ) : null}
      <Models job={job} events={events} />
      {job.isolation ? (
        <span>
          Sandbox <b>{tierWords(job.isolation.tier)}</b>
          {job.isolation.claimed ? ` (operator claims ${visible(job.isolation.claimed)})` : ""}
        </span>
      ) : null}
      {Object.entries(job.labels ?? {}).map(([key, value]) => (
        <Tag key={key}>
          {visible(key)}={visible(value)}
        </Tag>
      ))}
      {job.replayed_from ? (
        <span>
          Retry of{" "}
          <Link to="/jobs/$id" params={{ id: job.replayed_from }} className="plain mono">
            {job.replayed_from.slice(0, 13)}
          </Link>
          ,{" "}
          <Link to="/compare" search={{ a: job.replayed_from, b: job.id } as never} className="plain">
            Compare
          </Link>
        </span>
      ) : null}
    </div>
  );
}

/** Nothing for a job that called no model. */
function Models({ job, events }: { job: Job; events: readonly JobEvent[] }) {
  const calls = job.usage?.llm_calls ?? 0;
  if (calls === 0) return null;
  const tokens = (job.usage?.input_tokens ?? 0) + (job.usage?.output_tokens ?? 0);
  const turns = events.filter((event) => event.type === "turn_taken").length;
  const served = events.findLast((event) => event.type === "llm_call" && event.outcome === "ok");
  return (
    <>
      <span>
        <b>{count(calls)}</b> {calls === 1 ? "model call" : "model calls"}
        {turns === 0 ? "" : ` in ${count(turns)} ${turns === 1 ? "attempt" : "attempts"}`}, <b>{count(tokens)}</b> tokens, <b>{cost(job.usage?.cost_usd)}</b>
      </span>
      {served === undefined ? null : (
        <span>
          Model <b>{visible(`${String(served.provider)}/${String(served.model)}`)}</b>
        </span>
      )}
    </>
  );
}

/** "1 of 9 blocks failed" of a document, next to its mark. */
function FailedBlocks({ of: job }: { of: Job }) {
  const text = failedBlocks(job.result);
  return text === null ? null : <span className="bad">{text}</span>;
}
