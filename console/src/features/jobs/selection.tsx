import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { post, Problem } from "../../api/client";
import { TERMINAL, type Job } from "../../api/types";
import { useSession } from "../../app/shell";
import { safeCell } from "../../shared/csv";
import { download } from "../../shared/json";

interface Outcome {
  id: string;
  ok: boolean;
  said: string;
}

/** What can be done with the jobs that are chosen, with the outcome of each. */
export function Selection({ jobs, onClear }: { jobs: readonly Job[]; onClear: () => void }) {
  const mayWrite = useSession()?.scopes.includes("write") ?? false;
  const act = useMutation({ mutationFn: (verb: "cancel" | "replay") => Promise.all(targets(jobs, verb).map((job) => done(job, verb))) });
  const alive = targets(jobs, "cancel").length;
  return (
    <section className="panel tight" aria-label="Chosen jobs">
      <div className="bar">
        <b>{jobs.length} chosen</b>
        <Button variant="default" disabled={!mayWrite || alive === 0} loading={act.isPending} onClick={() => act.mutate("cancel")}>
          Cancel {alive}
        </Button>
        <Button variant="default" disabled={!mayWrite} loading={act.isPending} onClick={() => act.mutate("replay")}>
          Run {jobs.length} again
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
          Choose none
        </Button>
      </div>
      {(act.data ?? []).map((outcome) => (
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

async function done(job: Job, verb: "cancel" | "replay"): Promise<Outcome> {
  try {
    const answer = await post<Job>(`/v1/jobs/${job.id}/${verb}`, verb === "replay" ? {} : undefined);
    return { id: job.id, ok: true, said: verb === "replay" ? `runs again as ${answer.id}` : `is ${answer.state}` };
  } catch (error) {
    return { id: job.id, ok: false, said: error instanceof Problem ? `${error.title} (${error.code})` : String(error) };
  }
}

function csvOf(jobs: readonly Job[]): string {
  const names = ["id", "kind", "state", "title", "created_at", "started_at", "finished_at", "verdict", "turns"] as const;
  return [names.join(","), ...jobs.map((job) => names.map((name) => safeCell(String(job[name] ?? ""))).join(","))].join("\n");
}
