import type { FlowResult, JobEvent } from "../api/types";
import { visible } from "../shared/code/ansi";
import { Code, Diff } from "../shared/code/code";
import { Tag } from "../shared/values/marks";

type ToolCall = FlowResult["tool_calls"][number];
type Execution = FlowResult["execution"][number];

export interface CallAttempt {
  number: number;
  calls: ToolCall[];
  executed: Execution[];
}

/** The calls of each turn with their outcomes: a result has those of the last turn only, the events have all. */
export function callTurnsOf(events: readonly JobEvent[]): CallAttempt[] {
  return events
    .filter((event) => event.type === "turn_taken")
    .map((event) => ({ number: Number(event.number), calls: (event.proposal ?? []) as ToolCall[], executed: (event.outcome ?? []) as Execution[] }));
}

/** Calls as text, a line for each parameter. */
export function callText(calls: readonly ToolCall[]): string {
  return calls
    .map(({ name, params }) =>
      [
        name,
        ...Object.entries(params)
          .sort(([one], [other]) => one.localeCompare(other))
          .map(([key, value]) => `  ${key}: ${JSON.stringify(value)}`),
      ].join("\n"),
    )
    .join("\n");
}

/** The calls of a turn that did nothing in the end: those that failed, and those that were taken back with them. */
export function undoneOf({ calls, executed }: CallAttempt): { call: ToolCall; done: Execution }[] {
  return calls.flatMap((call, index) => {
    const done = executed[index];
    return done !== undefined && (!done.success || done.rolled_back) ? [{ call, done }] : [];
  });
}

/** The repair strip of a diagram's turns: what failed and why, and what the model called instead. */
export function CallStrip({ turns, chosen }: { turns: readonly CallAttempt[]; chosen: number | null }) {
  return (
    <div className="stack">
      {turns.map((turn, index) => {
        const before = turns[index - 1];
        const undone = before === undefined ? [] : undoneOf(before);
        const bad = undoneOf(turn).length;
        return (
          <section key={turn.number} className="panel stack" aria-label={`Attempt ${turn.number}`} data-attempt={turn.number} data-chosen={turn.number === chosen}>
            <div className="bar">
              <b>Attempt {turn.number}</b>
              <Tag tone={bad === 0 ? "good" : "bad"}>{bad === 0 ? (turn.calls.length === 1 ? "the call worked" : `all ${turn.calls.length} calls worked`) : `${bad} of ${turn.calls.length} calls did nothing`}</Tag>
            </div>
            {undone.length === 0 ? null : (
              <div className="callout bad">
                <b>Because attempt {before!.number} gave:</b>
                <CallList calls={undone.map(({ call }) => call)} executed={undone.map(({ done }) => done)} />
              </div>
            )}
            {undone.length === 0 ? <Code text={callText(turn.calls)} /> : <Diff before={callText(undone.map(({ call }) => call))} after={callText(turn.calls)} />}
            <CallList calls={turn.calls} executed={turn.executed} />
          </section>
        );
      })}
    </div>
  );
}

/** Each call with its outcome. */
export function CallList({ calls, executed }: { calls: readonly ToolCall[]; executed: readonly Execution[] }) {
  return calls.map((call, index) => {
    const done = executed[index];
    return (
      <div key={`${call.id}-${index}`} className={`check ${done?.success ? "good" : "bad"}`}>
        <span>{done?.success ? "✓" : "✗"}</span>
        <span className="wrapped">
          <code>
            {visible(call.name)} {visible(JSON.stringify(call.params))}
          </code>
          {done?.error ? <span> {visible(done.error)}</span> : null}
          {(done?.suggestions ?? []).length > 0 ? <span className="muted"> perhaps {visible(done!.suggestions!.join(", "))}</span> : null}
          {done?.rolled_back ? <span className="muted"> taken back with its batch</span> : null}
        </span>
      </div>
    );
  });
}
