import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { get, remove } from "../../api/client";
import { jobsPage } from "../../api/queries";
import type { Conversation, Job } from "../../api/types";
import { WORKBENCHES } from "../../app/navigation";
import { visible } from "../../shared/code/ansi";
import { JobMark } from "../../shared/values/marks";
import { Failed, Loaded } from "../../shared/page/loading-states";
import { When } from "../../shared/values/time";
import { WriteButton } from "../../shared/editing/write-button";
import { SortedTable } from "../../shared/tables/sorted-table";

/** What was said in a conversation, and the jobs that did it, oldest first. Each job can be opened to start again from there. */
export function Turns({ id, onGone }: { id: string; onGone: () => void }) {
  const query = useQuery({ queryKey: ["conversation", id], queryFn: () => get<Conversation>(`/v1/conversations/${encodeURIComponent(id)}`) });
  const jobs = useQuery({ queryKey: ["jobs", { conversation_id: id }], queryFn: ({ signal }) => jobsPage({ conversation_id: id, limit: 200 }, signal) });
  return (
    <section className="panel stack" aria-label="Turns">
      <Loaded query={query}>
        {(talk) => (
          <>
            <div className="bar">
              <h2>{visible(talk.title ?? id)}</h2>
              <Link to="/jobs" search={{ conversation_id: id } as never} className="plain">
                View jobs
              </Link>
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
                <pre className="wrapped">{visible(message.content)}</pre>
              </article>
            ))}
          </>
        )}
      </Loaded>
      <Loaded query={jobs}>{(page) => <Jobs jobs={[...page.items].reverse()} />}</Loaded>
    </section>
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
