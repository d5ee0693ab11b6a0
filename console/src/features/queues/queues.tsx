import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../../api/client";
import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { Tag } from "../../shared/values/marks";
import { count } from "../../shared/values/numbers";
import { Sparkline, type Point } from "../../shared/values/sparkline";
import { took } from "../../shared/values/time";
import { endedOf, endedWords, waitedOf, waitedWords } from "./queue-history";
import { SortedTable } from "../../shared/tables/sorted-table";

type Queues = components["schemas"]["Queues"];
type QueueHistory = components["schemas"]["QueueHistory"];
type Tenant = components["schemas"]["QueueTenant"];
type Past = components["schemas"]["QueuePast"];

/** What waits of each kind, for how long, and how it came and went. */
export function QueueTable({ items }: { items: Queues["items"] }) {
  const history = useQuery({ queryKey: ["queues", "history"], queryFn: () => get<QueueHistory>("/v1/queues/history"), refetchInterval: 15_000 });
  const past = new Map(history.data?.items.map((each) => [each.kind, each]));
  const most = Math.max(0, ...[...past.values()].flatMap((each) => each.queued));
  return (
    <SortedTable
      id="queues"
      label="Queues"
      columns={[
        { name: "Job type", by: (row) => row.kind },
        { name: "Queued", num: true, by: (row) => row.queued },
        { name: "Whose", title: "The tenants with the most queued and running jobs", by: (row) => row.tenants?.[0]?.tenant ?? null },
        { name: "Backlog (1 h)", title: "Jobs that waited at the end of each minute of the last hour, all kinds to the same scale" },
        { name: "Oldest", num: true, by: (row) => row.oldest_seconds },
        { name: "Running", num: true, by: (row) => row.running },
        { name: "Submitted / h", num: true, by: (row) => row.submitted_last_hour },
        { name: "Ended / h", num: true, by: (row) => row.ended_last_hour },
        { name: "Failed / h", num: true, by: (row) => row.failed_last_hour },
        { name: "Throughput (per min)", title: "Jobs that ended in each minute of the last hour, each kind to its own scale; those that failed are marked" },
        { name: "Workers", num: true, by: (row) => row.workers },
      ]}
      items={items}
      row={(queue) => (
        <tr key={queue.kind}>
          <td>
            <Link to="/jobs" search={{ kind: queue.kind } as never} className="plain">
              {queue.kind}
            </Link>
          </td>
          <td className="num">{count(queue.queued)}</td>
          <td>
            <Tenants of={queue.tenants ?? []} />
          </td>
          <td>
            <Line past={past.get(queue.kind)} points={waitedOf} words={waitedWords} most={most} />
          </td>
          <td className="num">{took(queue.oldest_seconds)}</td>
          <td className="num">{count(queue.running)}</td>
          <td className="num">{count(queue.submitted_last_hour)}</td>
          <td className="num">{count(queue.ended_last_hour)}</td>
          <td className="num">{queue.failed_last_hour ? <span className="bad">{queue.failed_last_hour}</span> : 0}</td>
          <td>
            <Line past={past.get(queue.kind)} points={endedOf} words={endedWords} />
          </td>
          <td className="num">{queue.workers === 0 ? <Tag tone="bad">none</Tag> : queue.workers}</td>
        </tr>
      )}
    />
  );
}

/** Who has the work that waits or runs, most first. */
function Tenants({ of }: { of: readonly Tenant[] }) {
  const [first, ...others] = of;
  if (first === undefined) return <span className="muted">–</span>;
  const words = (each: Tenant): string => `${visible(each.tenant)} ${count(each.queued + each.running)}`;
  return <span title={of.map((each) => `${each.tenant}: ${each.queued} queued, ${each.running} running`).join("\n")}>{others.length === 0 ? words(first) : [first, ...others.slice(0, 2)].map(words).join(", ")}</span>;
}

interface LineProps {
  past: Past | undefined;
  points: (past: Past) => Point[];
  words: (past: Past) => string;
  most?: number;
}

function Line({ past, points, words, most = 0 }: LineProps) {
  if (past === undefined) return null;
  const drawn = points(past);
  const top = Math.max(...drawn.map(({ value }) => value));
  return (
    <span className="bar line">
      <Sparkline points={drawn} step={2} most={most} label={`${past.kind}: ${words(past)}`} />
      <span className="small muted" title="The most in one minute">{top === 0 ? "" : `max ${count(top)}`}</span>
    </span>
  );
}
