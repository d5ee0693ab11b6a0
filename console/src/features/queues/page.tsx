import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import { useSession } from "../../app/shell";
import { visible } from "../../shared/ansi";
import { Tag } from "../../shared/marks";
import { count } from "../../shared/numbers";
import { Loaded } from "../../shared/states";
import { took, When } from "../../shared/time";
import { useTitle } from "../../shared/title";
import type { components } from "../../api/schema";

type Queues = components["schemas"]["Queues"];
type Workers = components["schemas"]["Workers"];

export function Page() {
  useTitle("Queues and workers");
  const admin = useSession()?.scopes.includes("admin") ?? false;
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => get<Queues>("/v1/queues"), refetchInterval: 2000 });
  const workers = useQuery({ queryKey: ["workers"], queryFn: () => get<Workers>("/v1/workers"), refetchInterval: 3000, enabled: admin });
  return (
    <>
      <div className="head">
        <h1>Queues and workers</h1>
        <span className="muted">{admin ? "of all tenants" : "of your tenant"}</span>
      </div>
      <div className="stack">
        <Loaded query={queues}>{({ items }) => <QueueTable items={items} />}</Loaded>
        <h2>Workers</h2>
        {admin ? <Loaded query={workers}>{({ items }) => <WorkerTable items={items} />}</Loaded> : <p className="muted">Workers are shown to keys with the scope admin.</p>}
      </div>
    </>
  );
}

function QueueTable({ items }: { items: Queues["items"] }) {
  const most = Math.max(...items.map((queue) => queue.queued ?? 0), 1);
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Queues">
      <table className="grid-table wide">
        <thead>
          <tr>
            <th>Kind</th>
            <th className="num">Queued</th>
            <th />
            <th className="num">Oldest</th>
            <th className="num">Running</th>
            <th className="num">Submitted / h</th>
            <th className="num">Ended / h</th>
            <th className="num">Failed / h</th>
            <th className="num">Workers</th>
          </tr>
        </thead>
        <tbody>
          {items.map((queue) => (
            <tr key={queue.kind}>
              <td>
                <Link to="/jobs" search={{ kind: queue.kind } as never} className="plain">
                  {queue.kind}
                </Link>
              </td>
              <td className="num">{count(queue.queued)}</td>
              <td>
                <meter min={0} max={most} value={queue.queued ?? 0} aria-label={`${queue.queued} queued`} />
              </td>
              <td className="num">{took(queue.oldest_seconds)}</td>
              <td className="num">{count(queue.running)}</td>
              <td className="num">{count(queue.submitted_last_hour)}</td>
              <td className="num">{count(queue.ended_last_hour)}</td>
              <td className="num">{queue.failed_last_hour ? <span className="bad">{queue.failed_last_hour}</span> : 0}</td>
              <td className="num">{queue.workers === 0 ? <Tag tone="bad">none</Tag> : queue.workers}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function WorkerTable({ items }: { items: Workers["items"] }) {
  if (items.length === 0) return <p className="callout bad">No worker has reported within ten minutes: nothing runs.</p>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Workers">
      <table className="grid-table wide wrap">
        <thead>
          <tr>
            <th>Service</th>
            <th>State</th>
            <th>Kinds</th>
            <th className="num">Busy</th>
            <th>Version</th>
            <th>Started</th>
            <th>Seen</th>
            <th>Why not, or what it says of itself</th>
          </tr>
        </thead>
        <tbody>
          {items.map((worker) => (
            <tr key={worker.id}>
              <td title={worker.id}>{worker.service}</td>
              <td>{worker.alive ? <Tag tone="good">alive</Tag> : <Tag tone="bad">silent</Tag>}</td>
              <td>{worker.kinds.join(", ") || <Tag tone="warn">stands by</Tag>}</td>
              <td className="num">
                {worker.running ?? 0} of {worker.concurrency}
              </td>
              <td className="mono">{worker.version}</td>
              <td>
                <When at={worker.started_at} />
              </td>
              <td>
                <When at={worker.seen_at} />
              </td>
              <td>{visible(factsOf(worker.facts).slice(0, 400)) || "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What a worker says of itself, as words: what there is of each, with its version. */
function factsOf(facts: unknown): string {
  return Object.entries((facts ?? {}) as Record<string, unknown>)
    .map(([name, value]) => `${name}: ${wordsOf(value)}`)
    .join("; ");
}

function wordsOf(value: unknown): string {
  if (value === null || typeof value !== "object") return String(value ?? "–");
  return Object.entries(value)
    .filter(([, each]) => each !== null && (each as { available?: boolean }).available !== false)
    .map(([name, each]) => `${name} ${typeof each === "object" ? String((each as { version?: string }).version ?? "") : String(each)}`.trim())
    .join(", ");
}
