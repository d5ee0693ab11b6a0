import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../api/client";
import type { components } from "../api/schema";
import type { Job } from "../api/types";
import { visible } from "../shared/code/ansi";
import { JsonTree } from "../shared/json/json";
import { Tag } from "../shared/values/marks";
import { count } from "../shared/values/numbers";
import { Loaded } from "../shared/page/loading-states";
import { finderOf, piecesOf, type Finder } from "./cells";

export type CallText = components["schemas"]["LlmCallText"];
type Message = components["schemas"]["CallMessage"];

/** What a model was sent and what it answered, as far as the installation keeps the words. */
export function CallWords({ job, call }: { job: Job; call: number }) {
  const query = useQuery({ queryKey: ["call", job.id, call], queryFn: () => get<CallText>(`/v1/jobs/${job.id}/llm-calls/${call}`), staleTime: Infinity });
  return <Loaded query={query}>{(told) => (told.messages ? <Words job={job} told={told} /> : <NotKept keeps={told.keeps} />)}</Loaded>;
}

function NotKept({ keeps }: { keeps: string }) {
  return (
    <p className="callout">
      The words of this call are not kept{keeps === "off" ? "" : " any more, or not of such calls"}: the setting <code>ASSAY_LLM_TEXTS</code> is <b>{keeps}</b>.
    </p>
  );
}

function Words({ job, told }: { job: Job; told: CallText }) {
  const messages = told.messages ?? [];
  const find = finderOf(job, told.role);
  return (
    <section className="panel stack" aria-label={`Messages of call ${told.id}`}>
      <div className="bar">
        <b>
          turn {told.turn} · {told.role}
        </b>
        {told.cut ? <Tag tone="warn">long messages are cut</Tag> : null}
        {told.tools?.length ? <Tag>{told.tools.length} tools</Tag> : null}
        <span className="spacer" />
        {told.prompt ? (
          <Link to="/prompts/$key" params={{ key: told.prompt.key }} search={{ job: job.id } as never} className="plain">
            Try another text of {told.prompt.key} on this
          </Link>
        ) : null}
      </div>
      <Left messages={messages} find={find} />
      <Messages messages={messages} find={find} />
      <h3>Answer</h3>
      {told.answer ? (
        <pre className="code wrap" tabIndex={0}>
          {visible(told.answer)}
        </pre>
      ) : (
        <p className="muted">{told.outcome === "ok" ? "No text." : `None: ${told.detail ?? told.outcome}`}</p>
      )}
      {told.tool_calls?.length ? <JsonTree value={told.tool_calls} label="calls of tools" /> : null}
    </section>
  );
}

/** How much of the messages came from data, or why that is not known. */
function Left({ messages, find }: { messages: readonly Message[]; find: Finder | null }) {
  if (find === null) return <p className="muted">What of these messages came from data is not marked: calls of this kind have no places of it.</p>;
  const sent = messages.flatMap((message) => find(message.content));
  const masked = sent.filter((each) => each.masked).length;
  return (
    <p>
      <mark className="sent">Marked</mark>: {count(sent.length - masked)} values of the data that left this machine
      {masked === 0 ? null : (
        <>
          , and <mark className="sent masked">hidden</mark> where {count(masked)} did not
        </>
      )}
    </p>
  );
}

/** Messages in their order, all but the last folded; what `find` finds in them is marked. */
export function Messages({ messages, find = null }: { messages: readonly Message[]; find?: Finder | null }) {
  return (
    <div className="tight">
      {messages.map((message, index) => {
        const sent = find?.(message.content) ?? [];
        return (
          <details key={index} open={index === messages.length - 1}>
            <summary>
              {message.role}{" "}
              <span className="muted">
                {message.content.length} characters{message.images ? `, ${message.images} images` : ""}
                {sent.length === 0 ? "" : `, ${count(sent.length)} marked`}
              </span>
            </summary>
            <pre className="code wrap" tabIndex={0}>
              {piecesOf(message.content, sent).map((piece, place) =>
                piece.sent === null ? (
                  visible(piece.text)
                ) : (
                  <mark key={place} className={piece.sent.masked ? "sent masked" : "sent"} title={piece.sent.masked ? "hidden: the value did not leave this machine" : "a value of the data"}>
                    {visible(piece.text)}
                  </mark>
                ),
              )}
            </pre>
          </details>
        );
      })}
    </div>
  );
}
