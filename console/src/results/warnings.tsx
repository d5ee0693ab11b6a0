import { visible } from "../shared/code/ansi";
import { Callout } from "../shared/page/callout";
import { Tag } from "../shared/values/marks";

const SCRIPTED = /^(?:Demo mode: scripted reply|Served by the scripted LLM server)/;

/** What a job warns of, in one place however much it is. */
export function Warnings({ of }: { of: readonly string[] | undefined }) {
  const shown = (of ?? []).filter((warning) => !SCRIPTED.test(warning));
  if (shown.length === 0) return null;
  return (
    <Callout tone="warn">
      {shown.map((warning) => (
        <div key={warning}>{visible(warning)}</div>
      ))}
    </Callout>
  );
}

/** That a script answered and not a model, as one word. */
export function DemoModel({ warnings }: { warnings: readonly string[] | undefined }) {
  if (!(warnings ?? []).some((warning) => SCRIPTED.test(warning))) return null;
  return (
    <Tag tone="accent" title="Answers come from the demo script; no model was called.">
      Demo model
    </Tag>
  );
}
