import { Tabs } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { useJobEvents } from "../../api/events";
import { useJob } from "../../api/queries";
import { TERMINAL, type Job, type JobEvent } from "../../api/types";
import { ResultView } from "../../results";
import { ModelCalls } from "../../results/models";
import { attemptsOf, RepairStrip } from "../../results/transform";
import { visible } from "../../shared/ansi";
import { LiveTag, StateMark, Tag } from "../../shared/marks";
import { cost, count } from "../../shared/numbers";
import { Boundary, Loaded, Loading } from "../../shared/states";
import { between, took, useNow, When } from "../../shared/time";
import { useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";
import { Actions } from "./actions";
import { EventList } from "./event-list";
import { Input } from "./input";
import { Output } from "./output";
import { Timeline } from "./timeline";

const Replay = lazy(() => import("./replay"));
const MakeCase = lazy(() => import("./case"));

export function Page() {
  const { id } = useParams({ strict: false }) as { id: string };
  const query = useJob(id);
  return <Loaded query={query}>{(job) => <JobPage key={job.id} job={job} />}</Loaded>;
}

function JobPage({ job }: { job: Job }) {
  const { events, liveness } = useJobEvents(job.id);
  const [url, change] = useUrl();
  const client = useQueryClient();
  const ended = TERMINAL.has(job.state);
  useTitle(`${job.kind} ${job.state} · ${titleOf(job)}`);
  const last = events.at(-1)?.type;
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ["job", job.id] });
  }, [client, job.id, last]);
  const attempts = attemptsOf(job, events);
  const tabs = tabsOf(job, attempts.length, events);
  const tab = url.tab ?? (job.result !== null ? "result" : attempts.length > 0 ? "attempts" : "events");
  return (
    <div className="stack">
      <div className="head">
        <StateMark state={job.state} />
        <h1 className="clip">{visible(titleOf(job))}</h1>
        <LiveTag liveness={liveness} />
        <span className="spacer" />
        <Actions job={job} onReplay={() => change({ replay: "1" })} onCase={() => change({ case: "1" })} />
      </div>
      <Facts job={job} />
      {job.waiting ? <p className="callout warn">{waitingWords(job)}</p> : null}
      {job.error ? <ErrorPanel job={job} /> : null}
      {(job.warnings ?? []).map((warning) => (
        <p key={warning} className="callout warn">
          {visible(warning)}
        </p>
      ))}
      <Timeline events={events} ended={ended} />
      {url.replay === "1" ? (
        <Suspense fallback={<Loading />}>
          <Replay job={job} onClose={() => change({ replay: null })} />
        </Suspense>
      ) : null}
      {url.case === "1" ? (
        <Suspense fallback={<Loading />}>
          <MakeCase job={job} onClose={() => change({ case: null })} />
        </Suspense>
      ) : null}
      <Tabs value={tab} onChange={(value) => change({ tab: value })}>
        <Tabs.List aria-label="Parts of the job">
          {tabs.map((each) => (
            <Tabs.Tab key={each.value} value={each.value}>
              {each.name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <div className="tab-body">
          <Boundary key={tab}>
            <TabBody tab={tab} job={job} events={events} ended={ended} />
          </Boundary>
        </div>
      </Tabs>
    </div>
  );
}

function TabBody({ tab, job, events, ended }: { tab: string; job: Job; events: readonly JobEvent[]; ended: boolean }) {
  if (tab === "attempts") return <RepairStrip attempts={attemptsOf(job, events)} />;
  if (tab === "models") return <ModelCalls jobId={job.id} ended={ended} />;
  if (tab === "output") return <Output events={events} />;
  if (tab === "events") return <EventList events={events} />;
  if (tab === "input") return <Input job={job} />;
  if (job.result === null || job.result === undefined) return <p className="muted">{ended ? "The job ended without a result." : "No result yet."}</p>;
  return <ResultView job={job} />;
}

function tabsOf(job: Job, attempts: number, events: readonly JobEvent[]): { value: string; name: string }[] {
  const output = events.some((event) => event.type === "output");
  return [
    { value: "result", name: "Result" },
    ...(attempts > 0 ? [{ value: "attempts", name: `Attempts ${attempts}` }] : []),
    ...(job.usage?.llm_calls || events.some((event) => event.type === "llm_call") ? [{ value: "models", name: "Models" }] : []),
    ...(output ? [{ value: "output", name: "Output" }] : []),
    { value: "events", name: `Events ${events.length}` },
    { value: "input", name: "Input" },
  ];
}

function Facts({ job }: { job: Job }) {
  const now = useNow(TERMINAL.has(job.state) ? 0 : 500);
  const end = job.finished_at ?? new Date(now).toISOString();
  const tokens = (job.usage?.input_tokens ?? 0) + (job.usage?.output_tokens ?? 0);
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
      <span>
        <b>{count(job.usage?.llm_calls)}</b> {job.usage?.llm_calls === 1 ? "model call" : "model calls"}, <b>{count(tokens)}</b> tokens, <b>{cost(job.usage?.cost_usd)}</b>
      </span>
      {job.isolation ? (
        <span>
          code ran in <b>{job.isolation.tier}</b> isolation{job.isolation.claimed ? ` (the operator says ${visible(job.isolation.claimed)})` : ""}
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
        </span>
      ) : null}
    </div>
  );
}

function ErrorPanel({ job }: { job: Job }) {
  const error = job.error!;
  const what = REMEDIES[error.code];
  return (
    <div className="callout bad tight" role="alert">
      <b>{error.title}</b>
      <span>{visible(error.detail ?? "")}</span>
      <span>
        <a className="plain mono" href={`/docs/errors#${error.code}`}>
          {error.code}
        </a>
        {what === undefined ? "" : `: ${what}`}
      </span>
    </div>
  );
}

const REMEDIES: Readonly<Record<string, string>> = {
  budget_spent: "the attempts say what went wrong; say more in the task, or replay with more iterations.",
  providers_failed: "the tab Models says who answered what.",
  user_code_failed: "the code was yours; the traceback names its line.",
  no_provider_configured: "set a provider's key on the server.",
};

function waitingWords(job: Job): string {
  const { reason, position, detail } = job.waiting!;
  if (reason === "no_worker") return detail ?? `No worker serves ${job.kind} jobs.`;
  if (reason === "in_queue") return position === null ? "It waits in the queue, far back." : `It waits in the queue: number ${position}.`;
  return detail ?? "It is tried again later.";
}

function titleOf(job: Job): string {
  const input = (job.input ?? {}) as Record<string, unknown>;
  const said = input.task ?? input.question ?? input.message ?? input.code ?? input.markdown;
  const line = typeof said === "string" ? said.trim().split("\n")[0]! : "";
  return line === "" ? `${job.kind} ${job.id.slice(0, 13)}` : line.slice(0, 120);
}

