import { Tabs } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { useJobEvents } from "../../api/events";
import { useJob } from "../../api/queries";
import { TERMINAL, type Job, type JobEvent } from "../../api/types";
import { ResultView } from "../../results";
import { ModelCalls } from "../../results/models";
import { attemptsOf, RepairStrip } from "../../results/transform";
import { Warnings } from "../../results/warnings";
import { visible } from "../../shared/ansi";
import { useAnnounced } from "../../shared/announce";
import { LiveTag, StateMark, Tag } from "../../shared/marks";
import { Boundary, Loaded, Loading } from "../../shared/states";
import { titleOf, useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";
import { shortfall, verdictOf } from "../../shared/verdict";
import { Actions } from "./actions";
import { ErrorPanel, waitingWords } from "./error";
import { EventList } from "./event-list";
import { Facts } from "./facts";
import { Input } from "./input";
import { useJobKeys } from "./keys";
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
  useAnnounced(`${job.kind} ${job.state}`, job.id);
  const last = events.at(-1)?.type;
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ["job", job.id] });
  }, [client, job.id, last]);
  const attempts = attemptsOf(job, events);
  const tabs = tabsOf(job, attempts.length, events);
  const short = shortfall(verdictOf(job.result));
  useJobKeys(job, () => change({ replay: "1" }));
  const tab = url.tab ?? (job.result !== null ? "result" : attempts.length > 0 ? "attempts" : "events");
  return (
    <div className="stack">
      <div className="head">
        <StateMark state={job.state} />
        {short === null ? null : <Tag tone="warn">{short}</Tag>}
        <h1 className="clip">{visible(titleOf(job))}</h1>
        <LiveTag liveness={liveness} />
        <span className="spacer" />
        <Actions job={job} onReplay={() => change({ replay: "1" })} onCase={() => change({ case: "1" })} />
      </div>
      <Facts job={job} events={events} />
      {job.waiting ? <p className="callout warn">{waitingWords(job)}</p> : null}
      {job.error ? <ErrorPanel job={job} /> : null}
      <Warnings of={job.warnings} />
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
  if (tab === "output") return <Output events={events} ended={ended} />;
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
