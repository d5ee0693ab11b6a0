import { Tabs } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { ChevronRight, Copy } from "lucide-react";
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
import { Icon } from "../../shared/values/icon";
import { LiveTag } from "../../shared/values/marks";
import { Callout } from "../../shared/page/callout";
import { Boundary, Loaded, Loading } from "../../shared/page/loading-states";
import { titleOf, useTitle } from "../../shared/page/title";
import { lastFilter, useUrl } from "../../shared/page/url";
import { stateOf } from "../../shared/values/states";
import { Actions } from "./actions";
import { BranchFrom } from "./branch";
import { ErrorPanel, waitingWords } from "./error";
import { EventList } from "./event-list";
import { Facts } from "./facts";
import { Input } from "./input";
import { copy } from "../../shared/page/copy";
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
  const narrow = window.matchMedia("(max-width: 767px)").matches;
  const timeline = <Timeline events={events} ended={ended} failed={state.tone === "bad"} turn={turn} onTurn={choose} />;
  return (
    <div className="stack">
      <div className="head">
        <div className="title">
          <div className="crumb">
            <Link to="/jobs" search={lastFilter() as never}>
              Jobs
            </Link>
            <Icon of={ChevronRight} size={14} />
            <span className="mono">{job.id}</span>
            <button type="button" className="icon-button" aria-label="Copy job ID" onClick={() => copy(job.id)}>
              <Icon of={Copy} size={14} />
            </button>
            <LiveTag liveness={liveness} />
          </div>
          <h1 className="two-lines">{visible(titleOf(job))}</h1>
        </div>
        <Actions job={job} onReplay={() => change({ replay: "1" })} onCase={() => change({ case: "1" })} />
      </div>
      <Facts job={job} events={events} />
      {job.waiting ? <Callout tone="warn" icon="dashed">{waitingWords(job)}</Callout> : null}
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
