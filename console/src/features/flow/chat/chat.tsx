import { SegmentedControl, Textarea } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Send } from "lucide-react";
import { useEffect, useRef, type ReactNode } from "react";
import { get, post } from "../../../api/client";
import type { FlowResult, FlowView, Job } from "../../../api/types";
import { FollowedJob } from "../../../results/followed-job";
import { FlowResultView } from "../../../results/flow";
import { visible } from "../../../shared/code/ansi";
import { useDraft } from "../../../shared/editing/draft";
import { faultsOf } from "../../../shared/editing/field-errors";
import { Failed } from "../../../shared/page/loading-states";
import { useWrite, WriteButton } from "../../../shared/editing/write-button";
import { Icon } from "../../../shared/values/icon";
import { Readiness } from "../../../shared/page/readiness";
import { chatTurns, type Message, type Turn as PastTurn } from "./chat-turns";

interface Props {
  flow: FlowView;
  jobId: string | undefined;
  onJob: (id: string) => void;
  onProposal: (id: string) => void;
  onChanged: () => void;
  proposal: ReactNode;
}

interface Conversation {
  messages: Message[];
}

/** Words become changes: done at once, or proposed first. The conversation continues from turn to turn. */
export function Chat({ flow, jobId, onJob, onProposal, onChanged, proposal }: Props) {
  const [draft, setDraft] = useDraft(`flow.${flow.id}`, { message: "", mode: "propose", conversation: null as string | null });
  const past = useQuery({
    queryKey: ["conversation", draft.conversation, flow.version],
    queryFn: () => get<Conversation>(`/v1/conversations/${draft.conversation}`),
    enabled: draft.conversation !== null,
    retry: false,
  });
  const ask = useMutation({
    mutationFn: () =>
      post<Job>("/v1/jobs", {
        kind: "flow",
        input: { flow_id: flow.id, message: draft.message, mode: draft.mode },
        ...(draft.conversation === null ? {} : { conversation_id: draft.conversation }),
      }),
    onSuccess: (job) => {
      setDraft({ ...draft, message: "", conversation: job.conversation_id ?? null });
      onJob(job.id);
    },
  });
  const write = useWrite();
  const send = (): void => {
    if (draft.message.trim() !== "" && !ask.isPending && write.may) ask.mutate();
  };
  const turns = useRef<HTMLDivElement>(null);
  const shown = `${jobId ?? ""} ${past.data?.messages.length ?? 0} ${proposal === null}`;
  useEffect(() => {
    if (turns.current !== null) turns.current.scrollTop = turns.current.scrollHeight;
  }, [shown]);
  const faults = faultsOf(ask.error, ["input.message"]);
  return (
    <section className="chat" aria-label="Chat">
      <div className="chat-turns" ref={turns} tabIndex={0} role="group" aria-label="What was said">
      <Readiness kind="flow" />
      {past.data === undefined && jobId === undefined && proposal === null ? <p className="muted">Describe a change: the model edits the diagram, or proposes the edit first.</p> : null}
      {chatTurns(flow, past.data?.messages ?? [])
        .filter((turn) => turn.job === null || turn.job !== jobId)
        .slice(-6)
        .map((turn, index) => (
          <Past key={index} turn={turn} />
        ))}
      {jobId === undefined ? null : (
        <FollowedJob key={jobId} id={jobId}>
          {(job) => (job.result && job.kind === "flow" ? <Turn result={job.result as unknown as FlowResult} onProposal={onProposal} onChanged={onChanged} /> : null)}
        </FollowedJob>
      )}
      {proposal}
      </div>
      <form className="chat-write" onSubmit={(event) => (event.preventDefault(), send())}>
      <Textarea aria-label="What should change" error={faults.at("input.message")} placeholder="Describe a change" onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }} autosize minRows={2} value={draft.message} onChange={(event) => setDraft({ ...draft, message: event.currentTarget.value })} />
      <div className="bar">
        <SegmentedControl
          aria-label="How to change it"
          data={[
            { value: "propose", label: "Propose" },
            { value: "apply", label: "Apply" },
          ]}
          value={draft.mode}
          onChange={(mode) => setDraft({ ...draft, mode })}
        />
        <span className="spacer" />
        <WriteButton type="submit" variant="default" loading={ask.isPending} disabled={draft.message.trim() === ""} leftSection={<Icon of={Send} size={14} />}>
          Send
        </WriteButton>
      </div>
      {ask.error === null ? null : <Failed error={ask.error} faults={faults} />}
      </form>
    </section>
  );
}

function Past({ turn }: { turn: PastTurn }) {
  return (
    <article className="chat-turn">
      <p className="chat-mine">{visible(turn.asked)}</p>
      <span className="muted">
        {visible(turn.answered)}
        {turn.attempts > 1 ? ` (${turn.attempts} attempts)` : ""}{" "}
        {turn.job === null ? null : (
          <Link to="/jobs/$id" params={{ id: turn.job }} className="plain">
            Its job
          </Link>
        )}
      </span>
    </article>
  );
}

/** Reports once to the page what a turn did: a proposal or a change to show. */
function Turn({ result, onProposal, onChanged }: { result: FlowResult; onProposal: (id: string) => void; onChanged: () => void }) {
  const told = useRef(false);
  useEffect(() => {
    if (told.current) return;
    told.current = true;
    if (result.proposal_id) onProposal(result.proposal_id);
    else onChanged();
  }, [result, onProposal, onChanged]);
  return <FlowResultView result={result} />;
}
