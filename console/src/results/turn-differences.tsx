import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../api/client";
import { TERMINAL, type Job, type JobEvent, type LlmCall, type Page } from "../api/types";
import { visible } from "../shared/code/ansi";
import { SplitDiff } from "../shared/code/code";
import { cost, count } from "../shared/values/numbers";
import { Loaded } from "../shared/page/loading-states";
import { took } from "../shared/values/time";
import { answerOf, turnPairs, type Ran, type TurnPair } from "./turn-pairs";
import type { CallText } from "./call-messages";
import { scrollEnd } from "../shared/tables/scroll-end";

const NAMES = ["A", "B"] as const;

/** Two jobs turn by turn: who answered at what cost, the request, the attempt and its outcome. */
export function TurnDifferences({ left, right }: { left: Job; right: Job }) {
  const [one, other] = [useRan(left), useRan(right)];
  return (
    <Loaded query={one} rows={2}>
      {(before) => (
        <Loaded query={other} rows={2}>
          {(after) =>
            turnPairs(before, after).map((pair) => <Turn key={pair.number} pair={pair} before={left} after={right} />)
          }
        </Loaded>
      )}
    </Loaded>
  );
}

function useRan(job: Job) {
  const path = `/v1/jobs/${job.id}`;
  return useQuery({
    queryKey: ["ran", job.id, job.state],
    queryFn: async (): Promise<Ran> => {
      const [calls, events] = await Promise.all([get<{ items: LlmCall[] }>(`${path}/llm-calls`), get<Page<JobEvent>>(`${path}/events`, { type: "turn_taken", limit: 1000 })]);
      return { job, calls: calls.items, events: events.items };
    },
    staleTime: Infinity,
    refetchInterval: TERMINAL.has(job.state) ? false : 2000,
  });
}

function Turn({ pair: { number, left, right }, before, after }: { pair: TurnPair; before: Job; after: Job }) {
  const tried = left.text !== null || right.text !== null;
  const [one, other] = [answerOf(left.calls), answerOf(right.calls)];
  return (
    <section className="stack" aria-label={`Turn ${number}`}>
      <div className="sec">
        <h2>Turn {number}</h2> {tried && left.text === right.text ? <span className="muted">Both tried the same</span> : null}
      </div>
      {left.calls.length + right.calls.length === 0 ? null : <Asked turn={number} sides={[left.calls, right.calls]} />}
      {tried && left.text !== right.text ? <SplitDiff before={left.text ?? ""} after={right.text ?? ""} names={NAMES} /> : null}
      {one?.id == null && other?.id == null ? null : <Words before={before} after={after} calls={[one?.id ?? null, other?.id ?? null]} />}
    </section>
  );
}

function Asked({ turn, sides }: { turn: number; sides: readonly (readonly LlmCall[])[] }) {
  return (
    <div ref={scrollEnd} className="scroll" tabIndex={0} role="region" aria-label={`Models of turn ${turn}`}>
      <table className="grid-table wide">
        <thead>
          <tr>
            <th scope="col">Job</th>
            <th scope="col">Models</th>
            <th scope="col" className="num">
              Duration
            </th>
            <th scope="col" className="num">
              Tokens
            </th>
            <th scope="col" className="num">
              Cost
            </th>
          </tr>
        </thead>
        <tbody>
          {sides.map((calls, place) => (
            <tr key={place}>
              <th scope="row">{NAMES[place]}</th>
              <td>{calls.map((call) => visible(`${call.requested.provider}/${call.requested.model} ${call.outcome.replaceAll("_", " ")}`)).join(" › ") || "–"}</td>
              <td className="num">{calls.length === 0 ? "–" : took(calls.reduce((sum, call) => sum + call.seconds, 0))}</td>
              <td className="num">{count(sumOf(calls, ({ input_tokens, output_tokens }) => (input_tokens === null && output_tokens === null ? null : (input_tokens ?? 0) + (output_tokens ?? 0))))}</td>
              <td className="num">{cost(sumOf(calls, (call) => call.cost_usd))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Of those that answered; null when one of these lacks it, or none answered. */
function sumOf(calls: readonly LlmCall[], valueOf: (call: LlmCall) => number | null): number | null {
  const told = calls.filter((call) => call.outcome === "ok").map(valueOf);
  return told.length === 0 ? null : told.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}

/** What was sent and answered, fetched when it is opened. */
function Words({ before, after, calls }: { before: Job; after: Job; calls: readonly [number | null, number | null] }) {
  const [open, setOpen] = useState(false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Messages</summary>
      {open ? <WordsDiff before={before} after={after} calls={calls} /> : null}
    </details>
  );
}

function WordsDiff({ before, after, calls }: { before: Job; after: Job; calls: readonly [number | null, number | null] }) {
  const query = useQuery({
    queryKey: ["words", before.id, after.id, ...calls],
    queryFn: () => Promise.all([wordsOf(before, calls[0]), wordsOf(after, calls[1])]),
    staleTime: Infinity,
  });
  return (
    <Loaded query={query} rows={3}>
      {([one, other]) => (one === other ? <p className="muted">{one === NOT_KEPT ? one : "The same words."}</p> : <SplitDiff before={one} after={other} names={NAMES} />)}
    </Loaded>
  );
}

const NOT_KEPT = "(the words of this call are not kept: the setting ASSAY_LLM_TEXTS)";

async function wordsOf(job: Job, call: number | null): Promise<string> {
  if (call === null) return "";
  const told = await get<CallText>(`/v1/jobs/${job.id}/llm-calls/${call}`);
  if (!told.messages) return NOT_KEPT;
  return [...told.messages.map(({ role, content }) => `${role}:\n${content}`), `answer:\n${told.answer ?? JSON.stringify(told.tool_calls ?? [], null, 2)}`].join("\n\n");
}
