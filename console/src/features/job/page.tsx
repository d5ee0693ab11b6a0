import { Tabs } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { lazy, Suspense, useEffect } from "react";
import { useJobEvents } from "../../api/events";
import { useJob } from "../../api/queries";
import { TERMINAL, type Job, type JobEvent } from "../../api/types";
import { ResultView } from "../../results";
import { attemptCount, Attempts } from "../../results/attempts";
import { ModelCalls } from "../../results/models";
import { Warnings } from "../../results/warnings";
import { visible } from "../../shared/code/ansi";
import { useAnnounced } from "../../shared/page/announce";
import { JobMark, LiveTag } from "../../shared/values/marks";
import { Boundary, Loaded, Loading } from "../../shared/page/loading-states";
import { titleOf, useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";
import { failedBlocks, stateOf } from "../../shared/values/states";
import { Actions } from "./actions";
import { BranchFrom } from "./branch";
import { ErrorPanel, waitingWords } from "./error";
import { EventList } from "./event-list";
import { Facts } from "./facts";
import { Input } from "./input";
import { useJobKeys } from "./keys";
import { Output } from "./output";
import { Prompt } from "./prompt";
import { keepTab, tabOf, tabsOf } from "./tabs";
import { Timeline } from "./timeline";

const Replay = lazy(() => import("./replay"));
const MakeCase = lazy(() => import("./make-case"));

/** The parts of the page that show a turn, as they are led to by a click on one. */
const OF_TURNS = ["attempts", "models", "prompt"];

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
  const state = stateOf(job);
  useTitle(`${state.word} · ${titleOf(job)}`);
  useAnnounced(`${job.kind} ${state.word.toLowerCase()}`, job.id);
  const last = events.at(-1)?.type;
  useEffect(() => {
    void client.invalidateQueries({ queryKey: ["job", job.id] });
  }, [client, job.id, last]);
  const tabs = tabsOf(job, attemptCount(job, events), events);
  const turn = url.turn === undefined ? null : Number(url.turn);
  const tab = url.tab ?? tabOf(job, tabs);
  const choose = (chosen: number | null): void => {
    const leads = chosen !== null && !OF_TURNS.includes(tab);
    change({ turn: chosen === null ? null : String(chosen), call: null, ...(leads ? { tab: tabs.find(({ value }) => OF_TURNS.includes(value))?.value ?? tab } : {}) });
  };
  useJobKeys(job, () => change({ replay: "1" }), choose);
  const narrow = window.matchMedia("(max-width: 700px)").matches;
  const timeline = <Timeline events={events} ended={ended} failed={state.tone === "bad"} turn={turn} onTurn={choose} />;
  return (
    <div className="stack">
      <div className="head">
        <JobMark job={job} />
        <FailedBlocks of={job} />
        <h1 className="clip">{visible(titleOf(job))}</h1>
        <LiveTag liveness={liveness} />
        <span className="spacer" />
        <Actions job={job} onReplay={() => change({ replay: "1" })} onCase={() => change({ case: "1" })} />
      </div>
      <Facts job={job} events={events} />
      {job.waiting ? <p className="callout warn">{waitingWords(job)}</p> : null}
      {job.error ? <ErrorPanel job={job} /> : null}
      <Warnings of={job.warnings} />
      {narrow ? null : timeline}
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
      <Tabs
        value={tab}
        onChange={(value) => {
          keepTab(job.kind, value);
          change({ tab: value });
        }}
      >
        <Tabs.List aria-label="Parts of the job">
          {tabs.map((each) => (
            <Tabs.Tab key={each.value} value={each.value}>
              {each.name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <div className="tab-body">
          <Boundary key={tab}>
            <TabBody tab={tab} job={job} events={events} ended={ended} turn={turn} />
          </Boundary>
        </div>
      </Tabs>
      {narrow ? timeline : null}
    </div>
  );
}

function TabBody({ tab, job, events, ended, turn }: { tab: string; job: Job; events: readonly JobEvent[]; ended: boolean; turn: number | null }) {
  if (tab === "attempts") return <Attempts job={job} events={events} turn={turn} below={(attempt) => <BranchFrom job={job} attempt={attempt} />} />;
  if (tab === "models") return <ModelCalls jobId={job.id} ended={ended} turn={turn} />;
  if (tab === "prompt") return <Prompt job={job} ended={ended} turn={turn} />;
  if (tab === "output") return <Output events={events} ended={ended} />;
  if (tab === "events") return <EventList events={events} />;
  if (tab === "input") return <Input job={job} />;
  if (job.result === null || job.result === undefined) return <p className="muted">{ended ? "The job ended without a result." : "No result yet."}</p>;
  return <ResultView job={job} />;
}

/** "1 of 9 blocks failed" of a document, next to its mark. */
function FailedBlocks({ of: job }: { of: Job }) {
  const text = failedBlocks(job.result);
  return text === null ? null : <span className="bad">{text}</span>;
}
