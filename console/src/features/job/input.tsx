import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { get, post } from "../../api/client";
import type { components } from "../../api/schema";
import { TERMINAL, type Job } from "../../api/types";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/code/ansi";
import { DownloadFile } from "../../shared/files/blob";
import { JsonTree } from "../../shared/json/json";
import { Tag } from "../../shared/values/marks";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { took, When } from "../../shared/values/time";
import { AskedView } from "./input-parts-view";
import { filesOf, type GivenFile } from "./files";

type Deliveries = components["schemas"]["Deliveries"];

/** The request, its terms, and who was notified of the end. */
export function Input({ job }: { job: Job }) {
  return (
    <div className="stack">
      <AskedView input={job.input} />
      <h3>As JSON</h3>
      <JsonTree value={job.input} label="input" />
      <Files of={filesOf(job.input)} />
      <dl className="facts">
        <Fact name="priority">{job.priority}</Fact>
        <Fact name="budget">{plain(job.budget)}</Fact>
        <Fact name="changed by the replay">{plain(job.overrides)}</Fact>
        <Fact name="conversation">
          {job.conversation_id ? (
            <Link to="/conversations" search={{ id: job.conversation_id } as never} className="plain mono">
              {job.conversation_id}
            </Link>
          ) : null}
        </Fact>
        <Fact name="batch">
          {job.batch_id ? (
            <Link to="/jobs" search={{ batch_id: job.batch_id } as never} className="plain mono">
              {job.batch_id}
            </Link>
          ) : null}
        </Fact>
        <Fact name="request">{job.request_id ? <span className="mono">{job.request_id}</span> : null}</Fact>
        <Fact name="worker">{job.worker_id ? <span className="mono">{job.worker_id}</span> : null}</Fact>
        <Fact name="workers that it crashed">{job.crashes ? job.crashes : null}</Fact>
      </dl>
      <Webhook job={job} />
    </div>
  );
}

function Files({ of }: { of: readonly GivenFile[] }) {
  if (of.length === 0) return null;
  return (
    <div className="bar" role="group" aria-label="Files of the input">
      {of.map((file) => (
        <DownloadFile key={file.id} fileId={file.id} name={file.name} />
      ))}
    </div>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  if (children === null || children === undefined || children === "") return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function plain(values: Record<string, unknown> | undefined): string {
  return Object.entries(values ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${visible(String(value))}`)
    .join(", ");
}

/** Every delivery to the job's webhook, and another one by a click. */
function Webhook({ job }: { job: Job }) {
  const path = `/v1/jobs/${job.id}/deliveries`;
  const ended = TERMINAL.has(job.state);
  const writes = useSession()?.scopes.includes("write") ?? false;
  const query = useQuery({ queryKey: ["deliveries", job.id, ended], queryFn: () => get<Deliveries>(path), refetchInterval: (state) => (state.state.data?.pending ? 3000 : false) });
  const again = useMutation({ mutationFn: (id: string) => post(`${path}/${id}/redeliver`), onSuccess: () => query.refetch() });
  return (
    <Loaded query={query} rows={1}>
      {({ url, pending, next_at, items }) =>
        url === null ? null : (
          <section className="panel stack" aria-label="Webhook">
            <h2>Webhook</h2>
            <span className="bar">
              <span className="mono">{visible(url)}</span>
              {pending ? <Tag tone="warn">another attempt follows</Tag> : null}
              {next_at ? <When at={next_at} /> : null}
            </span>
            {items.map((each) => (
              <div key={each.id} className="bar">
                <b>{each.attempt}</b>
                <Tag tone={each.outcome === "delivered" ? "good" : "bad"}>{each.outcome}</Tag>
                {each.http_status ?? ""} <span className="muted">{visible(each.detail ?? "")}</span> {took(each.seconds)} <When at={each.at} />
                <button type="button" className="link" disabled={!writes} title={writes ? undefined : "Needs the write scope"} onClick={() => again.mutate(each.id)}>
                  Deliver again
                </button>
              </div>
            ))}
            {again.error === null ? null : <Failed error={again.error} />}
          </section>
        )
      }
    </Loaded>
  );
}
