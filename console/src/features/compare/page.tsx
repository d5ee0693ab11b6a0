import { Button } from "@mantine/core";
import { GitCompareArrows } from "lucide-react";
import { Link } from "@tanstack/react-router";
import { useJob } from "../../api/queries";
import type { Job } from "../../api/types";
import { Differences } from "../../results/differences";
import { visible } from "../../shared/code/ansi";
import { JobMark, Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { Empty, Loaded } from "../../shared/page/loading-states";
import { between, took, When } from "../../shared/values/time";
import { titleOf, useTitle } from "../../shared/page/title";
import { useUrl } from "../../shared/page/url";

export function Page() {
  useTitle("Compare");
  const [{ a, b }] = useUrl();
  if (a === undefined || b === undefined) {
    return (
      <>
        <div className="head">
          <h1>Compare</h1>
        </div>
        <Empty
          title="Select two jobs to compare"
          icon={GitCompareArrows}
          actions={
            <Button component={Link} to="/jobs">
              Open jobs
            </Button>
          }
        >
          Check two jobs in the list, then press Compare. Their input, attempts and results appear here side by side.
        </Empty>
      </>
    );
  }
  return <Both a={a} b={b} />;
}

function Both({ a, b }: { a: string; b: string }) {
  const [one, other] = [useJob(a), useJob(b)];
  return (
    <>
      <div className="head">
        <h1>Compare</h1>
      </div>
      <Loaded query={one}>{(left) => <Loaded query={other}>{(right) => <Compared left={left} right={right} />}</Loaded>}</Loaded>
    </>
  );
}

/** Two jobs side by side: numbers first, then input, each turn, and the result, as differences. */
function Compared({ left, right }: { left: Job; right: Job }) {
  return (
    <div className="stack">
      <div className="cols even">
        <Facts side="A" job={left} />
        <Facts side="B" job={right} />
      </div>
      <Differences left={left} right={right} />
    </div>
  );
}

function Facts({ side, job }: { side: string; job: Job }) {
  const tokens = (job.usage?.input_tokens ?? 0) + (job.usage?.output_tokens ?? 0);
  return (
    <section className="panel tight">
      <span className="bar line">
        <Tag>{side}</Tag>
        <JobMark job={job} />
        <Link to="/jobs/$id" params={{ id: job.id }} className="plain clip">
          {visible(titleOf(job))}
        </Link>
        <span className="muted">
          <When at={job.created_at} />
        </span>
      </span>
      <span className="muted">
        {job.kind}, queued {took(between(job.created_at, job.started_at))}, ran {took(between(job.started_at, job.finished_at))}
        {job.usage?.llm_calls ? `, ${count(job.usage.llm_calls)} model calls, ${count(tokens)} tokens, ${cost(job.usage.cost_usd)}` : ""}
      </span>
      <span className="mono muted">{job.id}</span>
    </section>
  );
}
