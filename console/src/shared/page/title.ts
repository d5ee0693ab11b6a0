import { useEffect } from "react";
import type { Job } from "../../api/types";

/** The tab's title names the object and its state. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Assay`;
  }, [title]);
}

/** What a job was about: the first line of what was asked of it. */
export function titleOf(job: Pick<Job, "id" | "kind" | "input">): string {
  const input = (job.input ?? {}) as Record<string, unknown>;
  const source = (input.source ?? {}) as Record<string, unknown>;
  const said = input.task ?? input.question ?? input.message ?? input.code ?? input.markdown ?? source.git ?? source.path ?? source.name;
  const line = typeof said === "string" ? said.trim().split("\n")[0]! : "";
  return line === "" ? `${job.kind} ${job.id.slice(0, 13)}` : line.slice(0, 120);
}
