import { Button } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get, remove } from "../../api/client";
import { jobsPage } from "../../api/queries";
import type { Conversation, Job } from "../../api/types";
import { WORKBENCHES } from "../../app/navigation";
import { visible } from "../../shared/code/ansi";
import { Code } from "../../shared/code/code";
import { JobMark } from "../../shared/values/marks";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { WriteButton } from "../../shared/editing/write-button";
import { SortedTable } from "../../shared/tables/sorted-table";
import { partsOf } from "./message-parts";

/** What was said in a conversation, and the jobs that did it, oldest first. Each job can be opened to start again from there. */
export function Turns({ id, onGone }: { id: string; onGone: () => void }) {
  const query = useQuery({ queryKey: ["conversation", id], queryFn: () => get<Conversation>(`/v1/conversations/${encodeURIComponent(id)}`) });
  const jobs = useQuery({ queryKey: ["jobs", { conversation_id: id }], queryFn: ({ signal }) => jobsPage({ conversation_id: id, limit: 200 }, signal) });
  return (
    <section className="stack" aria-label="Turns">
      <Loaded query={query}>
        {(talk) => (
          <>
            <div className="bar">
              <h2>{visible(talk.title ?? id)}</h2>
              <span className="spacer" />
              <Button component={Link} to="/jobs" search={{ conversation_id: id } as never} variant="default">
                View jobs
              </Button>
              <Forget id={id} onGone={onGone} />
            </div>
            {talk.messages.length === 0 ? <p className="muted">No model messages.</p> : null}
            {talk.messages.map((message, index) => (
              <article key={index} className={`message ${message.role === "user" ? "asked" : ""}`}>
                <span className="bar">
                  <b>{message.role === "user" ? "User" : "Model"}</b>
                  <span className="muted">
                    <When at={message.time} />
                  </span>
                </span>
                <Content text={message.content} />
              </article>
            ))}
          </>
        )}
      </Loaded>
      <Loaded query={jobs}>{(page) => <Jobs jobs={[...page.items].reverse()} />}</Loaded>
    </section>
  );
}

/** What was said: words as words, code as code, and what a model thought folded. */
function Content({ text }: { text: string }) {
  return partsOf(text).map((part, place) =>
    part.kind === "code" ? (
      <Code key={place} text={part.text} />
    ) : part.kind === "thinking" ? (
      <details key={place}>
        <summary className="muted">Thinking</summary>
        <p className="wrapped muted">{visible(part.text)}</p>
      </details>
    ) : (
      <p key={place} className="wrapped">
        {visible(part.text)}
      </p>
    ),
  );
}

function Jobs({ jobs }: { jobs: readonly Job[] }) {
  if (jobs.length === 0) return <p className="muted">The jobs of this conversation are deleted.</p>;
  return (
    <SortedTable
      id="turns"
      label="Jobs of this conversation"
      columns={[{ name: "Turn", num: true }, "State", "Request", ""]}
      items={jobs}
      row={(job, index) => (
          <tr key={job.id}>
            <td className="num">{index + 1}</td>
            <td>
              <JobMark job={job} />
            </td>
            <td>
              <Link to="/jobs/$id" params={{ id: job.id }} className="plain">
                {visible(job.title ?? job.kind)}
              </Link>
            </td>
            <td>
              {WORKBENCHES[job.kind] === undefined ? null : (
                <Link to={WORKBENCHES[job.kind] as "/"} search={{ job: job.id } as never} className="plain">
                  Continue
                </Link>
              )}
            </td>
          </tr>
      )}
    />
  );
}

function Forget({ id, onGone }: { id: string; onGone: () => void }) {
  const [asked, setAsked] = useState(false);
  const client = useQueryClient();
  const forget = useMutation({
    mutationFn: () => remove(`/v1/conversations/${encodeURIComponent(id)}`),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["conversations"] });
      onGone();
    },
  });
  if (forget.error !== null) return <Failed error={forget.error} />;
  return (
    <WriteButton variant="default" loading={forget.isPending} onClick={() => (asked ? forget.mutate() : setAsked(true))}>
      {asked ? "Delete all messages" : "Delete…"}
    </WriteButton>
  );
}
