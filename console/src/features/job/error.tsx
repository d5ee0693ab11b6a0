import type { Job } from "../../api/types";
import { visible } from "../../shared/code/ansi";

/** Why the job failed, and what to do. */
export function ErrorPanel({ job }: { job: Job }) {
  const error = job.error!;
  const what = REMEDIES[error.code];
  return (
    <div className="callout bad tight" role="alert">
      <b>{error.title}</b>
      <span>{visible(error.detail ?? "")}</span>
      <span>
        <a className="plain mono" href={`/docs/errors#${error.code}`}>
          {error.code}
        </a>
        {what === undefined ? "" : `: ${what}`}
      </span>
    </div>
  );
}

const REMEDIES: Readonly<Record<string, string>> = {
  budget_spent: "the attempts say what went wrong; say more in the task, or replay with more iterations.",
  providers_failed: "the tab Models says who answered what.",
  user_code_failed: "the code came with the job; its attempt shows the line, or the assertion that does not hold.",
  no_provider_configured: "set a provider's key on the server.",
};

/** Why it has not begun. */
export function waitingWords(job: Job): string {
  const { reason, position, detail } = job.waiting!;
  if (reason === "no_worker") return detail ?? `No worker serves ${job.kind} jobs.`;
  if (reason === "in_queue") return position === null ? "It waits in the queue, far back." : `It waits in the queue: number ${position}.`;
  return detail ?? "It is tried again later.";
}
