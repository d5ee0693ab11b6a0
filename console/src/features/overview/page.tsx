import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { get, post } from "../../api/client";
import { useLiveJobs, useRefresh } from "../../api/live";
import { jobsPage } from "../../api/queries";
import type { Capabilities, Job } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { tierWords } from "../../shared/values/isolation";
import { LiveTag, JobMark, Tag } from "../../shared/values/marks";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { useTitle } from "../../shared/page/title";
import { WriteButton } from "../../shared/editing/write-button";
import { REMEDIES, useCapabilities } from "../../shared/page/readiness";
import { Health } from "./health";
import { Today } from "./today";

interface Example {
  kind: string;
  summary: string;
  body: unknown;
}

interface Description {
  paths: { "/v1/jobs": { post: { requestBody: { content: { "application/json": { examples: Record<string, { summary: string; value: { kind: string } }> } } } } } };
}

export function Page() {
  useTitle("Overview");
  const capabilities = useCapabilities();
  const recent = useQuery({ queryKey: ["jobs", "recent"], queryFn: () => jobsPage({ limit: 8 }), refetchInterval: 30_000 });
  const failures = useQuery({ queryKey: ["jobs", "failures"], queryFn: () => jobsPage({ state: "failed", limit: 5 }), refetchInterval: 30_000 });
  const refresh = useRefresh(["jobs", "recent"], ["jobs", "failures"]);
  const liveness = useLiveJobs(useSession()?.tenant, refresh);
  return (
    <>
      <div className="head">
        <h1>Overview</h1>
        <LiveTag liveness={liveness} />
      </div>
      <div className="cols">
        <div className="stack">
          <section className="panel">
            <h2>What can be done here</h2>
            <Loaded query={capabilities}>{(data) => <Kinds data={data} />}</Loaded>
            <Health />
          </section>
          <section className="panel">
            <h2>Examples</h2>
            <Examples ready={capabilities.data} />
          </section>
        </div>
        <div className="stack">
          <Today />
          <section className="panel">
            <h2>Latest jobs</h2>
            <Loaded query={recent}>{(page) => <JobList jobs={page.items} none="None yet: run an example." />}</Loaded>
          </section>
          <section className="panel">
            <h2>Last failures</h2>
            <Loaded query={failures}>{(page) => <JobList jobs={page.items} none="No job has failed." />}</Loaded>
          </section>
        </div>
      </div>
    </>
  );
}

function Kinds({ data }: { data: Capabilities }) {
  return (
    <dl className="facts">
      {Object.entries(data.kinds).map(([kind, { state, reason }]) => (
        <div key={kind} style={{ display: "contents" }}>
          <dt>{kind}</dt>
          <dd>
            <Tag tone={state === "ready" ? "good" : state === "no_worker" ? "bad" : "warn"}>{state.replace("_", " ")}</Tag> {reason} {REMEDIES[state] ?? ""}
          </dd>
        </div>
      ))}
      <dt>code runs in</dt>
      <dd>{tierWords(data.isolation.tier)}</dd>
      <dt>languages</dt>
      <dd>
        {Object.entries(data.languages)
          .map(([name, language]) => (language.available ? `${name} ${language.version ?? ""}`.trim() : `no ${name}`))
          .join(", ")}
      </dd>
    </dl>
  );
}

/** The examples of the API's own description: they work as they stand. */
function Examples({ ready }: { ready: Capabilities | undefined }) {
  const navigate = useNavigate();
  const query = useQuery({ queryKey: ["examples"], queryFn: examples, staleTime: Infinity });
  const run = useMutation({
    mutationFn: (example: Example) => post<Job>("/v1/jobs", example.body),
    onSuccess: (job) => navigate({ to: "/jobs/$id", params: { id: job.id } }),
  });
  return (
    <div className="stack">
      {run.error === null ? null : <Failed error={run.error} />}
      <Loaded query={query}>
        {(list) => (
          <div className="tight">
            {list.map((example) => {
              const state = ready?.kinds[example.kind]?.state;
              return (
                <div key={example.kind} className="bar line">
                  <WriteButton variant="default" disabled={state === "no_worker" || run.isPending} onClick={() => run.mutate(example)}>
                    Run
                  </WriteButton>
                  <span className="clip" title={example.summary}>
                    {example.summary}
                  </span>
                  {state === "needs_provider" ? <Tag tone="warn">needs a model provider</Tag> : null}
                </div>
              );
            })}
          </div>
        )}
      </Loaded>
    </div>
  );
}

// Those that name a flow, a collection or an archive need one that is there.
const SELF_CONTAINED = new Set(["execute", "transform", "document"]);

async function examples(): Promise<Example[]> {
  const description = await get<Description>("/openapi.json");
  const given = description.paths["/v1/jobs"].post.requestBody.content["application/json"].examples;
  return Object.values(given)
    .filter(({ value }) => SELF_CONTAINED.has(value.kind))
    .map(({ summary, value }) => ({ kind: value.kind, summary, body: value }));
}

function JobList({ jobs, none }: { jobs: readonly Job[]; none: string }) {
  if (jobs.length === 0) return <span className="muted">{none}</span>;
  return (
    <div className="tight">
      {jobs.map((job) => (
        <div key={job.id} className="bar line">
          <span className="state-place">
            <JobMark job={job} />
          </span>
          <Link to="/jobs/$id" params={{ id: job.id }} className="plain clip">
            {visible(job.title ?? `${job.kind} ${job.id.slice(0, 8)}`)}
          </Link>
          <When at={job.created_at} />
        </div>
      ))}
    </div>
  );
}
