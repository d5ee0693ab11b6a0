import { Button, Select, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Play } from "lucide-react";
import { useState } from "react";
import { get, post } from "../../api/client";
import { jobQuery, jobsPage } from "../../api/queries";
import type { components } from "../../api/schema";
import type { Job, Models, Prompt } from "../../api/types";
import { Messages } from "../../results/call-messages";
import { visible } from "../../shared/code/ansi";
import { Diff } from "../../shared/code/code";
import { JsonTree } from "../../shared/json/json";
import { Icon } from "../../shared/values/icon";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { took } from "../../shared/values/time";
import { useUrl } from "../../shared/page/url";

type Tried = components["schemas"]["PromptTest"];

/** How many of the latest jobs are one click away. */
const QUICK = 3;

/** The text in the editor, tried on a model: on the words of a job's call, or on the user's own words. */
export function Trial({ prompt, text }: { prompt: Prompt; text: string }) {
  const [url, change] = useUrl();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [message, setMessage] = useState("");
  const [model, setModel] = useState<string | null>(null);
  const models = useQuery({ queryKey: ["models"], queryFn: () => get<Models>("/v1/models") });
  const job = url.job?.trim() || undefined;
  const own = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const body = { text, job_id: job, variables: own, message: message || undefined, model: model ?? undefined };
  const run = useMutation({ mutationFn: () => post<Tried>(`/v1/prompts/${prompt.key}/test`, body) });
  const faults = faultsOf(run.error, ["model", ...(job === undefined ? ["message", ...prompt.variables.required.map((name) => `variables.${name}`)] : ["job_id"])]);
  const jobs = useQuery({ queryKey: ["jobs", "of", prompt.key, prompt.version], queryFn: () => jobsPage({ prompt: `${prompt.key}@${prompt.version}`, limit: 20 }) });
  const chosen = useQuery({ ...jobQuery(job ?? ""), enabled: job !== undefined }).data;
  const latest = jobs.data?.items ?? [];
  const choices = [...(chosen === undefined ? [] : [chosen]), ...latest.filter((each) => each.id !== chosen?.id)].map((each) => ({ value: each.id, label: labelOf(each) }));
  const names = (models.data?.available ?? []).map((each) => `${String(each.provider)}/${String(each.model)}`);
  return (
    <section className="stack" aria-label="Try it">
      <div className="sec">
        <h2>Test</h2> <span className="muted">Makes a real model call; nothing is published</span>
      </div>
      <div className="bar">
        <Select label="Replay with job" error={faults.at("job_id")} placeholder="None: enter the variables below" data={choices} value={job ?? null} onChange={(id) => change({ job: id })} searchable clearable w={340} />
        <Select label="Model" error={faults.at("model")} placeholder="Default model" data={[...new Set(names)]} value={model} onChange={setModel} searchable clearable w={240} />
      </div>
      {job === undefined && latest.length > 0 ? (
        <div className="bar" role="group" aria-label="Its latest jobs">
          <span className="muted">Latest</span>
          {latest.slice(0, QUICK).map((each) => (
            <button key={each.id} type="button" className="chip" title={each.id} onClick={() => change({ job: each.id })}>
              <span className="clip" style={{ maxWidth: 240 }}>{labelOf(each)}</span>
            </button>
          ))}
        </div>
      ) : null}
      {job === undefined ? (
        <div className="beside">
          {prompt.variables.required.map((name) => (
            <Textarea key={name} label={name} error={faults.at(`variables.${name}`)} autosize maxRows={8} value={values[name] ?? ""} onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })} />
          ))}
        </div>
      ) : null}
      {job === undefined ? <Textarea label="User message" error={faults.at("message")} autosize maxRows={8} value={message} onChange={(event) => setMessage(event.currentTarget.value)} /> : null}
      <div className="bar">
        <Button variant="default" leftSection={<Icon of={Play} />} loading={run.isPending} onClick={() => run.mutate()}>
          Run test
        </Button>
      </div>
      {run.error === null ? null : <Failed error={run.error} faults={faults} />}
      {run.data === undefined ? null : <Answer tried={run.data} />}
    </section>
  );
}

/** Title, and the first of its id where titles are alike. */
function labelOf(job: Job): string {
  return `${visible(job.title ?? job.kind)} (${job.id.slice(-6)})`;
}

function Answer({ tried }: { tried: Tried }) {
  return (
    <div className="stack" aria-label="What the model answered" role="region">
      <div className="bar">
        {tried.served ? (
          <Tag>
            {tried.served.provider}/{tried.served.model}
          </Tag>
        ) : null}
        <span className="muted">
          {took(tried.seconds)}, {count(tried.input_tokens)} tokens in, {count(tried.output_tokens)} out, {cost(tried.cost_usd)}
        </span>
      </div>
      {tried.ok ? null : <p className="callout bad">{visible(tried.error ?? "")}</p>}
      {tried.before != null && tried.answer != null ? (
        <>
          <h3>Version {tried.before_version} (actual) vs draft</h3>
          <Diff before={tried.before} after={tried.answer} same="Same answer." />
        </>
      ) : tried.answer ? (
        <pre className="code wrap" tabIndex={0}>
          {visible(tried.answer)}
        </pre>
      ) : null}
      {tried.tool_calls?.length ? <JsonTree value={tried.tool_calls} label="calls of tools" /> : null}
      <details>
        <summary>Messages</summary>
        <Messages messages={tried.messages} />
      </details>
    </div>
  );
}
