import { Link } from "@tanstack/react-router";
import { TERMINAL, type Job, type JobEvent } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { tierWords } from "../../shared/values/isolation";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { between, took, useNow, When } from "../../shared/values/time";

/** What the job was, when it ran, who answered it, what it took, and which other jobs it belongs to. */
export function Facts({ job, events }: { job: Job; events: readonly JobEvent[] }) {
  const now = useNow(TERMINAL.has(job.state) ? 0 : 500);
  const end = job.finished_at ?? new Date(now).toISOString();
  return (
    <div className="chips">
      <span>
        <b>{job.kind}</b>
      </span>
      <span className="mono">{job.id}</span>
      <span>
        submitted <When at={job.created_at} />
        {job.actor_name ? ` by ${visible(job.actor_name)}` : ""}
      </span>
      <span>
        waited <b>{took(between(job.created_at, job.started_at ?? end))}</b>
      </span>
      {job.started_at ? (
        <span>
          ran <b>{took(between(job.started_at, end))}</b>
        </span>
      ) : null}
      <Models job={job} events={events} />
      {job.isolation ? (
        <span>
          code ran in <b>{tierWords(job.isolation.tier)}</b>
          {job.isolation.claimed ? ` (the operator says ${visible(job.isolation.claimed)})` : ""}
        </span>
      ) : null}
      {Object.entries(job.labels ?? {}).map(([key, value]) => (
        <Tag key={key}>
          {visible(key)}={visible(value)}
        </Tag>
      ))}
      {job.replayed_from ? (
        <span>
          replay of{" "}
          <Link to="/jobs/$id" params={{ id: job.replayed_from }} className="plain mono">
            {job.replayed_from.slice(0, 13)}
          </Link>
          ,{" "}
          <Link to="/compare" search={{ a: job.replayed_from, b: job.id } as never} className="plain">
            compare
          </Link>
        </span>
      ) : null}
    </div>
  );
}

/** Of a job that asked no model there is nothing to say. */
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
        {turns === 0 ? "" : ` in ${count(turns)} ${turns === 1 ? "turn" : "turns"}`}, <b>{count(tokens)}</b> tokens, <b>{cost(job.usage?.cost_usd)}</b>
      </span>
      {served === undefined ? null : (
        <span>
          answered by <b>{visible(`${String(served.provider)}/${String(served.model)}`)}</b>
        </span>
      )}
    </>
  );
}
