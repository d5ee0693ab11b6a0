import { Link } from "@tanstack/react-router";
import { useJob } from "../../api/queries";
import type { Job } from "../../api/types";
import { visible } from "../../shared/ansi";
import { Diff } from "../../shared/code";
import { StateMark } from "../../shared/marks";
import { cost, count } from "../../shared/numbers";
import { Empty, Loaded } from "../../shared/states";
import { between, took } from "../../shared/time";
import { useTitle } from "../../shared/title";
import { useUrl } from "../../shared/url";

export function Page() {
  useTitle("Compare");
  const [{ a, b }] = useUrl();
  if (a === undefined || b === undefined) return <Empty title="Choose two jobs in the list to compare them" />;
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

/** Two jobs beside each other: numbers first, then input, each attempt's code, and the result, as differences. */
function Compared({ left, right }: { left: Job; right: Job }) {
  const codes = [attempts(left), attempts(right)] as const;
  return (
    <div className="stack">
      <div className="cols even">
        <Facts job={left} />
        <Facts job={right} />
      </div>
      <Part title="Input" before={left.input} after={right.input} />
      {Array.from({ length: Math.max(codes[0].length, codes[1].length) }, (_, index) => (
        <Part key={index} title={`Attempt ${index + 1}`} before={codes[0][index]} after={codes[1][index]} />
      ))}
      <Part title="Result" before={left.result} after={right.result} />
      <Part title="Error" before={left.error} after={right.error} />
    </div>
  );
}

function Facts({ job }: { job: Job }) {
  const tokens = (job.usage?.input_tokens ?? 0) + (job.usage?.output_tokens ?? 0);
  return (
    <section className="panel tight">
      <span className="bar">
        <StateMark state={job.state} />
        <Link to="/jobs/$id" params={{ id: job.id }} className="plain mono">
          {visible(job.id)}
        </Link>
      </span>
      <span className="muted">
        {job.kind}, {took(between(job.started_at, job.finished_at))}, {count(job.usage?.llm_calls)} calls, {count(tokens)} tokens, {cost(job.usage?.cost_usd)}
      </span>
    </section>
  );
}

function Part({ title, before, after }: { title: string; before: unknown; after: unknown }) {
  const [one, other] = [text(before), text(after)];
  if (one === "" && other === "") return null;
  return (
    <section className="panel">
      <h3>
        {title} {one === other ? <span className="muted">the same</span> : null}
      </h3>
      {one === other ? null : <Diff before={one} after={other} />}
    </section>
  );
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

function attempts(job: Job): string[] {
  const holder = (job.result ?? job.error ?? {}) as { iterations?: { code: string; message: string }[] };
  return (holder.iterations ?? []).map((each) => `${each.code}\n\n${each.message}`);
}
