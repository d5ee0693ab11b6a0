import { useMutation, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { post } from "../../api/client";
import { jobQuery } from "../../api/queries";
import { TERMINAL, type DocumentResult, type Job } from "../../api/types";
import { SIGNS, TONES } from "../../results/block-states";
import type { LineMark } from "../../shared/code/editor-props";
import { visible } from "../../shared/code/ansi";
import { useAnnounced } from "../../shared/page/announce";
import { Failed } from "../../shared/page/loading-states";
import { WriteButton } from "../../shared/editing/write-button";

type Blocks = DocumentResult["blocks"];

/** The state of each block as a sign before its first line; of blocks that begin in one line the worst. */
export function marksOf(blocks: Blocks): LineMark[] {
  const order = ["skipped", "fresh", "ok", "stale", "error"];
  const byLine = new Map<number, Blocks[number]>();
  for (const block of blocks) {
    const [line] = block.lines;
    const there = byLine.get(line);
    if (there === undefined || order.indexOf(block.status) > order.indexOf(there.status)) byLine.set(line, block);
  }
  return [...byLine].map(([line, block]) => ({ line, sign: SIGNS[block.status] ?? "", tone: TONES[block.status] ?? "", title: toldOf(block) }));
}

/** "chunk: error: NameError: name 'x' is not defined" */
function toldOf(block: Blocks[number]): string {
  const fault = block.messages?.find(({ level }) => level === "error")?.text;
  return [block.instruction_type ?? block.kind, block.status, ...(fault === undefined ? [] : [visible(fault)])].join(": ");
}

interface Look {
  /** Of the last look, once it has ended. */
  blocks: Blocks | undefined;
  isPending: boolean;
  error: unknown;
  ask: () => void;
  forget: () => void;
}

/** Queries which blocks need to run again; nothing runs, and no model is called. */
export function useLook(input: Record<string, unknown>, previous: Job | undefined): Look {
  const look = useMutation({ mutationFn: () => post<Job>("/v1/jobs", { kind: "document", input: { ...input, execute: "none", previous_job_id: previous?.id } }, { Prefer: "wait=30" }) });
  const held = look.data?.state === "succeeded";
  const later = useQuery({ ...jobQuery(look.data?.id ?? ""), enabled: look.data !== undefined && !held }).data;
  const job = held ? look.data : later;
  const ended = job?.state === "succeeded";
  const blocks = useMemo(() => (ended ? (job.result as unknown as DocumentResult).blocks : undefined), [ended, job]);
  return { blocks, isPending: look.isPending || (look.data !== undefined && !ended && !TERMINAL.has(job?.state ?? "queued")), error: look.error, ask: () => look.mutate(), forget: () => look.reset() };
}

/** The button, and its result: how many of the blocks. */
export function LookBar({ look, disabled, onLine }: { look: Look; disabled: boolean; onLine: (line: number) => void }) {
  const stale = (look.blocks ?? []).filter((block) => block.status === "stale");
  const faults = (look.blocks ?? []).filter((block) => block.status === "error");
  const seen = `${stale.length === 0 ? "All blocks are up to date" : `${stale.length} of ${look.blocks?.length} blocks need to run`}${faults.length === 0 ? "." : `; ${faults.length} cannot run.`}`;
  useAnnounced(look.blocks === undefined ? null : seen, "stale blocks");
  return (
    <>
      <div className="bar">
        <WriteButton variant="default" disabled={disabled} loading={look.isPending} title={disabled ? "Run the document once to compare with it" : undefined} onClick={look.ask}>
          Check what changed
        </WriteButton>
        {look.blocks === undefined ? null : <span>{seen}</span>}
        {[...faults, ...stale].slice(0, 20).map((block) => (
          <button key={block.id} type="button" className="link" title={`${block.kind}: ${block.status}`} onClick={() => onLine(block.lines[0])}>
            {SIGNS[block.status]} line {block.lines[0]}
          </button>
        ))}
      </div>
      {look.error === null ? null : <Failed error={look.error as Error} />}
    </>
  );
}
