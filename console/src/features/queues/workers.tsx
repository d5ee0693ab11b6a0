import type { components } from "../../api/schema";
import { visible } from "../../shared/code/ansi";
import { WORKER_STATES } from "../../shared/values/states";
import { StateMark } from "../../shared/values/marks";
import { When } from "../../shared/values/time";
import { saysOf, whyNot } from "./worker-facts";
import { TableHead } from "../../shared/tables/table-head";

type Workers = components["schemas"]["Workers"];

/** Who works, with how much of it taken, and why one does not. */
export function WorkerTable({ items }: { items: Workers["items"] }) {
  if (items.length === 0) return <p className="callout bad">No worker has reported within ten minutes: nothing runs.</p>;
  return (
    <div className="scroll" tabIndex={0} role="region" aria-label="Workers">
      <table className="grid-table wide wrap">
        <TableHead columns={["Service", "State", "Kinds", { name: "Busy", num: true }, "Version", "Started", "Seen", "Limitations", "Capabilities"]} />
        <tbody>
          {items.map((worker) => (
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
          ))}
        </tbody>
      </table>
    </div>
  );
}
