import { useEffect } from "react";
import type { Job } from "../../api/types";
import { titleOfInput } from "./job-title";

/** The tab's title names the object and its state. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Assay`;
  }, [title]);
}

/** What a person calls the job; its type and ID where the input has no words. */
export function titleOf(job: Pick<Job, "id" | "kind" | "input"> & { title?: string | null }): string {
  return job.title ?? titleOfInput(job.kind, (job.input ?? {}) as Record<string, unknown>) ?? `${job.kind} ${job.id.slice(0, 13)}`;
}
