import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { get } from "../api/client";
import type { components } from "../api/schema";
import { visible } from "../shared/ansi";
import { JsonTree } from "../shared/json";
import { Tag } from "../shared/marks";
import { Loaded } from "../shared/states";

export type CallText = components["schemas"]["LlmCallText"];
type Message = components["schemas"]["CallMessage"];

/** What a model was sent and what it answered, as far as the installation keeps the words. */
export function CallWords({ jobId, call }: { jobId: string; call: number }) {
  const query = useQuery({ queryKey: ["call", jobId, call], queryFn: () => get<CallText>(`/v1/jobs/${jobId}/llm-calls/${call}`), staleTime: Infinity });
  return <Loaded query={query}>{(told) => (told.messages ? <Words jobId={jobId} told={told} /> : <NotKept keeps={told.keeps} />)}</Loaded>;
}

function NotKept({ keeps }: { keeps: string }) {
  return (
    <p className="callout">
      The words of this call are not kept{keeps === "off" ? "" : " any more, or not of such calls"}: the setting <code>ASSAY_LLM_TEXTS</code> is <b>{keeps}</b>.
    </p>
  );
}

function Words({ jobId, told }: { jobId: string; told: CallText }) {
  const messages = told.messages ?? [];
  return (
    <section className="panel stack" aria-label={`The words of call ${told.id}`}>
      <div className="bar">
        <b>
          turn {told.turn} · {told.role}
        </b>
        {told.cut ? <Tag tone="warn">long messages are cut</Tag> : null}
        {told.tools?.length ? <Tag>{told.tools.length} tools</Tag> : null}
        <span className="spacer" />
        {told.prompt ? (
          <Link to="/prompts/$key" params={{ key: told.prompt.key }} search={{ job: jobId } as never} className="plain">
            Try another text of {told.prompt.key} on this
          </Link>
        ) : null}
      </div>
      <Messages messages={messages} />
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

/** Messages in their order, all but the last folded. */
export function Messages({ messages }: { messages: readonly Message[] }) {
  return (
    <div className="tight">
      {messages.map((message, index) => (
        <details key={index} open={index === messages.length - 1}>
          <summary>
            {message.role} <span className="muted">{message.content.length} characters{message.images ? `, ${message.images} images` : ""}</span>
          </summary>
          <pre className="code wrap" tabIndex={0}>
            {visible(message.content)}
          </pre>
        </details>
      ))}
    </div>
  );
}
