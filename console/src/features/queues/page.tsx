import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import { useSession } from "../../app/shell";
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
