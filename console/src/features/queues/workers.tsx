import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { WORKER_STATES } from "../../shared/values/states";
import { StateMark } from "../../shared/values/marks";
import { When } from "../../shared/values/time";
import { saysOf, whyNot } from "./worker-facts";
import { SortedTable } from "../../shared/tables/sorted-table";

type Workers = components["schemas"]["Workers"];

/** Who works, with how much of it taken, and why one does not. */
export function WorkerTable({ items }: { items: Workers["items"] }) {
  if (items.length === 0) return <p className="callout bad">No worker has reported within ten minutes: nothing runs.</p>;
  return (
    <SortedTable
      id="workers"
      label="Workers"
      look="wide wrap"
      columns={[
        { name: "Service", by: (row) => row.service },
        { name: "State", by: (row) => row.alive ? 0 : 1 },
        { name: "Job types", by: (row) => row.kinds.join() },
        { name: "Busy", num: true, by: (row) => row.running },
        { name: "Version", by: (row) => row.version },
        { name: "Started", by: (row) => row.started_at },
        { name: "Last seen", by: (row) => row.seen_at },
        "Limitations",
        "Capabilities",
      ]}
      items={items}
      row={(worker) => (
        <tr key={worker.id}>
          <td title={worker.id}>{worker.service}</td>
          <td><StateMark of={worker.alive ? WORKER_STATES.online : WORKER_STATES.offline} /></td>
          <td>{worker.kinds.join(", ") || <StateMark of={WORKER_STATES.standby} />}</td>
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
          <td>{whyNot(worker).length === 0 ? "–" : <span className="warn">{visible(whyNot(worker).join("; "))}</span>}</td>
          <td>{visible(saysOf(worker.facts).slice(0, 400)) || "–"}</td>
        </tr>
      )}
    />
  );
}
