import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { post, type Query } from "../../api/client";
import type { components } from "../../api/schema";
import { TERMINAL, type Job } from "../../api/types";
import { useSession } from "../../app/shell";
import { download } from "../../shared/files/download";
import { Failed } from "../../shared/page/loading-states";
import { count } from "../../shared/values/numbers";
import { countWords } from "./counts";
import type { Counted } from "./counts-of";
import { csvOf, everything } from "./fetch-all";

type Schemas = components["schemas"];

const AT_ONCE = 1000;
/** Of many jobs no more are listed, the refused ones first. */
const MAX_OUTCOMES = 20;

interface Outcome {
  id: string;
  ok: boolean;
  said: string;
}

interface Props {
  jobs: readonly Job[];
  /** How many jobs match the filter of the list. */
  matching: Counted;
  filter: Query;
  onAll: (jobs: readonly Job[]) => void;
  onClear: () => void;
}

/** What can be done with the jobs that are chosen, with the outcome of each. */
export function Selection({ jobs, matching, filter, onAll, onClear }: Props) {
  const mayWrite = useSession()?.scopes.includes("write") ?? false;
  const act = useMutation({ mutationFn: (verb: "cancel" | "replay") => done(targets(jobs, verb), verb) });
  const alive = targets(jobs, "cancel").length;
  const [fetched, setFetched] = useState(0);
  const all = useMutation({
    mutationFn: () => everything(filter, new AbortController().signal, setFetched),
    onSuccess: (found) => onAll(found.jobs),
  });
  return (
    <section className="tight" aria-label="Selected jobs">
      <div className="selection">
        <b>{count(jobs.length)} selected</b>
        {all.isPending ? (
          <span role="status">{count(fetched)} jobs so far</span>
        ) : jobs.length < matching.jobs || (matching.more && all.data === undefined) ? (
          <button type="button" className="link" onClick={() => all.mutate()}>
            Select all {countWords(matching)} that match
          </button>
        ) : all.data?.cut ? (
          <span className="warn">the newest {count(jobs.length)}; older ones match too</span>
        ) : null}
        <span className="spacer" />
        <Button variant="default" disabled={!mayWrite || alive === 0} loading={act.isPending} onClick={() => act.mutate("cancel")}>
          Cancel {count(alive)}
        </Button>
        <Button variant="default" disabled={!mayWrite} loading={act.isPending} onClick={() => act.mutate("replay")}>
          Retry {count(jobs.length)}
        </Button>
        {jobs.length === 2 ? (
          <Button component={Link} to="/compare" search={{ a: jobs[0]!.id, b: jobs[1]!.id } as never} variant="default">
            Compare
          </Button>
        ) : null}
        <Button variant="default" onClick={() => download(csvOf(jobs), "jobs.csv")}>
          CSV
        </Button>
        <Button variant="default" onClick={() => download(JSON.stringify(jobs, null, 2), "jobs.json")}>
          JSON
        </Button>
        <Button variant="subtle" onClick={onClear}>
          Clear selection
        </Button>
      </div>
      {act.error === null ? null : <Failed error={act.error} />}
      {all.error === null ? null : <Failed error={all.error} />}
      {(act.data ?? []).length > MAX_OUTCOMES ? (
        <span role="status">
          {count(act.data!.filter(({ ok }) => ok).length)} done, {count(act.data!.filter(({ ok }) => !ok).length)} refused
        </span>
      ) : null}
      {[...(act.data ?? [])].sort((one, other) => Number(one.ok) - Number(other.ok)).slice(0, MAX_OUTCOMES).map((outcome) => (
        <span key={outcome.id} className={outcome.ok ? "good" : "bad"}>
          <span className="mono">{outcome.id.slice(0, 13)}</span> {outcome.said}
        </span>
      ))}
    </section>
  );
}

function targets(jobs: readonly Job[], verb: "cancel" | "replay"): readonly Job[] {
  return verb === "cancel" ? jobs.filter((job) => !TERMINAL.has(job.state)) : jobs;
}

/** One request for all of them: the server reports the outcome of each. */
async function done(jobs: readonly Job[], verb: "cancel" | "replay"): Promise<Outcome[]> {
  const answers = [];
  for (let place = 0; place < jobs.length; place += AT_ONCE) {
    answers.push(await post<Schemas["BulkOutcomes"]>(`/v1/jobs/${verb}`, { ids: jobs.slice(place, place + AT_ONCE).map((job) => job.id) }));
  }
  return answers.flatMap(({ items }) => items.map((each) => ({ id: each.id, ok: each.ok, said: each.ok ? (each.job_id ? `retried as ${each.job_id}` : `is ${each.state}`) : `${each.detail} (${each.code})` })));
}
