import type { Job } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Callout } from "../../shared/page/callout";
import { ordinal } from "../../shared/values/numbers";

/** Why the job failed, and what to do. */
export function ErrorPanel({ job }: { job: Job }) {
  const error = job.error!;
  const what = REMEDIES[error.code];
  const last = lastError(error as { iterations?: { message?: string }[] });
  return (
    <Callout tone="bad" role="alert" className="tight">
      <b>{error.title}</b>
      {last === null ? null : (
        <span>
          Last error: <code>{visible(last)}</code>
        </span>
      )}
      <span>{visible(error.detail ?? "")}</span>
      <span className="muted">
        {what === undefined ? "" : `${what} `}
        <a className="mono" href={`/docs/errors#${error.code}`}>
          {error.code}
        </a>
        {job.request_id ? <span className="mono"> · request {job.request_id}</span> : null}
      </span>
    </Callout>
  );
}

/** The line of the last attempt's message that names its error: "KeyError: 'last_name'". */
export function lastError({ iterations = [] }: { iterations?: readonly { message?: string }[] }): string | null {
  const lines = (iterations.at(-1)?.message ?? "").trim().split("\n").filter((line) => line.trim() !== "");
  return lines.findLast((line) => /^[A-Za-z_.]*(Error|Exception|Warning)\b/.test(line.trim()))?.trim() ?? lines.at(0)?.trim() ?? null;
}

const REMEDIES: Readonly<Record<string, string>> = {
  budget_spent: "Read the attempts, then describe the task in more detail or retry with more attempts.",
  providers_failed: "The Models tab shows what each provider answered.",
  user_code_failed: "The code came with the job; its attempt shows the line or the check that failed.",
  no_provider_configured: "Set a provider's key on the server, then restart it.",
};

/** Why it has not begun. */
export function waitingWords(job: Job): string {
  const { reason, position, detail } = job.waiting!;
  if (reason === "no_worker") return detail ?? `No worker serves ${job.kind} jobs.`;
  if (reason === "in_queue") return position == null ? "Queued, far back in line." : `Queued, ${ordinal(position)} in line.`;
  return detail ?? "It will be retried later.";
}
