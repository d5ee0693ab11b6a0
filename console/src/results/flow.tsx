import { Link } from "@tanstack/react-router";
import type { FlowResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Tag } from "../shared/values/marks";
import { CallList } from "./calls";
import { answerText } from "./answer-text";

/** A turn on a diagram: what was said, and each tool call with its outcome. */
export function FlowResultView({ result, flowId }: { result: FlowResult; flowId?: string }) {
  const response = answerText(result.response);
  return (
    <div className="stack">
      <div className="bar">
        <Tag tone={result.success ? "good" : "bad"}>{result.success ? "Done" : "Not done"}</Tag>
        {result.iterations > 1 ? <Tag tone="warn">{result.success ? `repaired in ${result.iterations} attempts` : `after ${result.iterations} attempts`}</Tag> : null}
        {result.repaired ? <Tag tone="warn">Answer repaired</Tag> : null}
        {flowId === undefined ? null : (
          <Link to="/flows/$id" params={{ id: flowId }} className="plain">
            Open the flow
          </Link>
        )}
      </div>
      {result.thinking === "" ? null : <p className="muted wrapped">{visible(result.thinking)}</p>}
      {response === "" ? null : <p className="wrapped">{visible(response)}</p>}
      <CallList calls={result.tool_calls} executed={result.execution} />
      {result.errors.map((error) => (
        <p key={error} className="callout bad">
          {visible(error)}
        </p>
      ))}
    </div>
  );
}
