import { useQuery } from "@tanstack/react-query";
import { jobQuery } from "../../api/queries";
import type { DocumentResult, Job } from "../../api/types";
import { Diff } from "../../shared/code/code";

/** What this run has made otherwise than the one before it: the document with its answers, and what each block put out. */
export function SinceLastRun({ before, job }: { before: string | undefined; job: Job }) {
  const earlier = useQuery({ ...jobQuery(before ?? ""), enabled: before !== undefined && before !== job.id }).data;
  if (earlier?.kind !== "document" || !earlier.result || !job.result) return null;
  const [was, now] = [textOf(earlier.result as unknown as DocumentResult), textOf(job.result as unknown as DocumentResult)];
  return (
    <details className="panel">
      <summary>{was === now ? "Same as the last run" : "Changes since the last run"}</summary>
      {was === now ? null : <Diff before={was} after={now} />}
    </details>
  );
}

function textOf(result: DocumentResult): string {
  const outputs = result.blocks.flatMap((block) => [
    ...(block.message_rendered ? [`${block.id} asked: ${block.message_rendered}`] : []),
    ...(block.outputs ?? []).map((output) => `${block.id} output: ${output.text ?? output.media_type}`),
    ...(block.messages ?? []).map((message) => `${block.id}: ${message.text}`),
  ]);
  return [result.markdown.trimEnd(), ...outputs].join("\n");
}
