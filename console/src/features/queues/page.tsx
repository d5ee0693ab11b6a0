import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { useSession } from "../../app/shell";
import { count } from "../../shared/values/numbers";
import { took } from "../../shared/values/time";
import { Loaded } from "../../shared/page/loading-states";
import { useTitle } from "../../shared/page/title";
import type { components } from "../../api/schema";
import { QueueTable } from "./queues";
import { WorkerTable } from "./workers";

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
        <div className="title">
          <h1>Queues and workers</h1>
          <p>{admin ? "Jobs of all tenants" : "Jobs of your tenant"}, updated every 2 s</p>
        </div>
      </div>
      <div className="sections">
        <Loaded query={queues}>{({ items }) => <Totals items={items} />}</Loaded>
        <Loaded query={queues}>{({ items }) => <QueueTable items={items} />}</Loaded>
        <section>
          <div className="sec">
            <h2>Workers</h2>
          </div>
          {admin ? <Loaded query={workers}>{({ items }) => <WorkerTable items={items} />}</Loaded> : <p className="muted">Workers are shown to keys with the scope admin.</p>}
        </section>
      </div>
    </>
  );
}

function unserved(types: number): string {
  if (types === 0) return "Every job type has a worker";
  return `${types === 1 ? "One job type has" : `${types} job types have`} no worker`;
}

/** All queues in four figures: what waits, how long, what runs, what failed. */
function Totals({ items }: { items: Queues["items"] }) {
  const sum = (of: (row: Queues["items"][number]) => number | undefined): number => items.reduce((total, row) => total + (of(row) ?? 0), 0);
  const waits = items.map((row) => row.oldest_seconds).filter((seconds) => seconds != null);
  const failed = sum((row) => row.failed_last_hour);
  const figures: readonly [name: string, value: string, more: string, tone?: string][] = [
    ["Queued", count(sum((row) => row.queued)), waits.length === 0 ? "Nothing waits" : `The oldest for ${took(Math.max(...waits))}`],
    ["Running", count(sum((row) => row.running)), unserved(items.filter((row) => row.workers === 0).length)],
    ["Ended, last hour", count(sum((row) => row.ended_last_hour)), `${count(sum((row) => row.submitted_last_hour))} submitted`],
    ["Failed, last hour", count(failed), failed === 0 ? "No failures" : "Programs that failed are not among them", failed === 0 ? "" : "bad"],
  ];
  return (
    <div className="stats">
      {figures.map(([name, value, more, tone]) => (
        <div key={name} className="stat">
          <span className="name">{name}</span>
          <span className={`value-of ${tone ?? ""}`}>{value}</span>
          <span className="more">{more}</span>
        </div>
      ))}
    </div>
  );
}
