import { useQuery } from "@tanstack/react-query";
import { callsQuery } from "../api/queries";
import type { LlmCall } from "../api/types";
import { visible } from "../shared/code/ansi";
import { ArrowRight } from "lucide-react";
import { Icon } from "../shared/values/icon";
import { Tag } from "../shared/values/marks";
import { cost, count } from "../shared/values/numbers";
import { Loaded } from "../shared/page/loading-states";
import { took } from "../shared/values/time";
import { useUrl } from "../shared/page/url";
import { requestsOf } from "./attempts-by-request";
import { SortedTable } from "../shared/tables/sorted-table";

/** The failover trail: which models were called in each turn, who was passed over and why, who answered, what it cost. */
export function ModelCalls({ jobId, ended, turn }: { jobId: string; ended: boolean; turn: number | null }) {
  const query = useQuery(callsQuery(jobId, ended));
  const [, change] = useUrl();
  return (
    <Loaded query={query}>
      {(calls) =>
        calls.length === 0 ? (
          <p className="muted">No model was called.</p>
        ) : (
          <div className="stack">
            {requestsOf(calls).map((each) => (
              <Trail key={each[0]!.id ?? `${each[0]!.turn} ${each[0]!.role}`} calls={each} chosen={each[0]!.turn === turn} />
            ))}
            <CallTable calls={calls} turn={turn} onRead={(id) => change({ tab: "prompt", call: String(id) })} />
          </div>
        )
      }
    </Loaded>
  );
}

function Trail({ calls, chosen }: { calls: readonly LlmCall[]; chosen: boolean }) {
  const first = calls[0]!;
  return (
    <div className="trail" data-turn={first.turn} data-chosen={chosen}>
      <span className="muted">
        turn {first.turn}
        {first.role === "" ? "" : ` · ${first.role}`}
      </span>
      {calls.map((call, index) => (
        <span key={index} className="trail">
          {index > 0 ? <Icon of={ArrowRight} size={14} /> : null}
          <span className={`step ${call.outcome === "ok" ? "ok" : call.outcome === "skipped" ? "skipped" : "fault"}`}>
            <b>{call.requested.provider}</b> {told(call)}
          </span>
        </span>
      ))}
      {first.source === "live" ? null : <Tag tone="accent">{calls.at(-1)!.source}</Tag>}
    </div>
  );
}

function told(call: LlmCall): string {
  if (call.outcome === "ok") return `ok ${took(call.seconds)}, ${cost(call.cost_usd)}`;
  // Its cause is why the one before it failed; why it was passed over itself is in words.
  if (call.outcome === "skipped") return call.detail ? `skipped: ${inside(call.detail)}` : "skipped";
  return `${call.http_status ?? ""} ${call.outcome.replaceAll("_", " ")}`.trim();
}

/** A sentence as a part of another. */
function inside(sentence: string): string {
  return visible(sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "").replaceAll("_", " "));
}

function CallTable({ calls, turn, onRead }: { calls: readonly LlmCall[]; turn: number | null; onRead: (id: number) => void }) {
  return (
    <SortedTable
      id="calls"
      label="Every model call"
      columns={[
        { name: "Turn", by: (row) => row.turn },
        { name: "Requested", by: (row) => `${row.requested.provider}/${row.requested.model}` },
        "Served",
        "Reason",
        { name: "Outcome", by: (row) => row.outcome },
        { name: "First token", num: true, by: (row) => row.first_token_seconds },
        { name: "In", num: true, by: (row) => row.input_tokens },
        { name: "Out", num: true, by: (row) => row.output_tokens },
        { name: "Duration", num: true, by: (row) => row.seconds },
        { name: "Cost", num: true, by: (row) => row.cost_usd },
        "Prompt",
        "Messages",
      ]}
      items={calls}
      row={(call, index) => (
        <tr key={index} aria-current={call.turn === turn ? "true" : undefined}>
          <td>{call.turn}</td>
          <td>
            {call.requested.provider}/{call.requested.model}
          </td>
          <td>{call.served ? `${call.served.provider}/${call.served.model}` : "–"}</td>
          <td title={[call.cause, call.detail].filter(Boolean).join(": ")}>
            {call.reason}
            {call.cause ? <span className="muted"> {call.cause.replaceAll("_", " ")}</span> : null}
          </td>
          <td>
            <span className={call.outcome === "ok" ? "good" : call.outcome === "skipped" ? "muted" : "bad"}>{call.outcome.replaceAll("_", " ")}</span> {call.http_status ?? ""}
          </td>
          <td className="num">{took(call.first_token_seconds)}</td>
          <td className="num" title={call.cached_tokens ? `${call.cached_tokens} of them cached` : undefined}>
            {count(call.input_tokens)}
          </td>
          <td className="num">{count(call.output_tokens)}</td>
          <td className="num">{took(call.seconds)}</td>
          <td className="num">{cost(call.cost_usd)}</td>
          <td>{call.prompt ? `${call.prompt.key} v${call.prompt.version}` : "–"}</td>
          <td>
            {call.id == null || call.outcome === "skipped" ? null : (
              <button type="button" className="link" aria-label={`View messages of call ${index + 1}`} onClick={() => onRead(call.id!)}>
                View
              </button>
            )}
          </td>
        </tr>
      )}
    />
  );
}
