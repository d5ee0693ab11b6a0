import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { callsQuery } from "../../api/queries";
import type { Job, LlmCall } from "../../api/types";
import { answerOf } from "../../results/turn-pairs";
import { CallWords } from "../../results/call-messages";
import { Loaded } from "../../shared/page/loading-states";
import { useUrl } from "../../shared/page/url";

/** What a model was sent and what it answered: of the call that is chosen, else of the turn's, else of the last. */
export function Prompt({ job, ended, turn }: { job: Job; ended: boolean; turn: number | null }) {
  const query = useQuery(callsQuery(job.id, ended));
  const [url, change] = useUrl();
  return (
    <Loaded query={query}>
      {(calls) => {
        const sent = calls.filter((call) => call.id != null && call.outcome !== "skipped");
        const chosen = chosenOf(sent, url.call, turn);
        if (chosen === undefined) return <p className="muted">No model was called.</p>;
        return (
          <div className="stack">
            <Select
              label="Call"
              data={sent.map((call) => ({ value: String(call.id), label: `turn ${call.turn} · ${call.requested.provider}/${call.requested.model} · ${call.outcome.replaceAll("_", " ")}` }))}
              value={String(chosen.id)}
              allowDeselect={false}
              onChange={(call) => change({ call })}
              maw={460}
            />
            <CallWords key={chosen.id} job={job} call={chosen.id!} />
          </div>
        );
      }}
    </Loaded>
  );
}

export function chosenOf(sent: readonly LlmCall[], call: string | undefined, turn: number | null): LlmCall | undefined {
  const named = sent.find((each) => String(each.id) === call);
  return named ?? answerOf(sent.filter((each) => each.turn === turn)) ?? answerOf(sent);
}
