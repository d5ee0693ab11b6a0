import { Button, Select, Textarea, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, post } from "../../api/client";
import { jobsPage } from "../../api/queries";
import type { components } from "../../api/schema";
import type { Models, Prompt } from "../../api/types";
import { Messages } from "../../results/call-messages";
import { visible } from "../../shared/code/ansi";
import { Diff } from "../../shared/code/code";
import { JsonTree } from "../../shared/json/json";
import { Tag } from "../../shared/values/marks";
import { cost, count } from "../../shared/values/numbers";
import { faultsOf } from "../../shared/editing/field-errors";
import { Failed } from "../../shared/page/loading-states";
import { took } from "../../shared/values/time";
import { useUrl } from "../../shared/page/url";

type Tried = components["schemas"]["PromptTest"];

/** The text in the editor, tried on a model: on the words of a job's call, or on words of one's own. */
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
  const jobs = useQuery({ queryKey: ["jobs", "of", prompt.key, prompt.version], queryFn: () => jobsPage({ prompt: `${prompt.key}@${prompt.version}`, limit: 3 }) });
  const names = (models.data?.available ?? []).map((each) => `${String(each.provider)}/${String(each.model)}`);
  return (
    <section className="panel stack" aria-label="Try it">
      <h2>Try it</h2>
      <div className="bar">
        <TextInput label="Replay with job" error={faults.at("job_id")} placeholder="its id" value={url.job ?? ""} onChange={(event) => change({ job: event.currentTarget.value || null })} w={300} />
        <Select label="Model" error={faults.at("model")} placeholder="Default model" data={[...new Set(names)]} value={model} onChange={setModel} searchable clearable w={240} />
      </div>
      {job === undefined && jobs.data !== undefined && jobs.data.items.length > 0 ? (
        <div className="bar" role="group" aria-label="Its latest jobs">
          <span className="muted">its latest:</span>
          {jobs.data.items.map((each) => (
            <button key={each.id} type="button" className="link clip" style={{ maxWidth: 260 }} title={each.id} onClick={() => change({ job: each.id })}>
              {visible(each.title ?? `${each.kind} ${each.id.slice(0, 8)}`)}
            </button>
          ))}
        </div>
      ) : null}
      {job === undefined
        ? prompt.variables.required.map((name) => (
            <Textarea key={name} label={name} error={faults.at(`variables.${name}`)} autosize maxRows={8} value={values[name] ?? ""} onChange={(event) => setValues({ ...values, [name]: event.currentTarget.value })} />
          ))
        : null}
      {job === undefined ? <Textarea label="User message" error={faults.at("message")} autosize maxRows={8} value={message} onChange={(event) => setMessage(event.currentTarget.value)} /> : null}
      <div className="bar">
        <Button loading={run.isPending} onClick={() => run.mutate()}>
          Run test
        </Button>
        <span className="muted">makes a real model call; nothing is published</span>
      </div>
      {run.error === null ? null : <Failed error={run.error} faults={faults} />}
      {run.data === undefined ? null : <Answer tried={run.data} />}
    </section>
  );
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
