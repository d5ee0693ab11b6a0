import { useMutation } from "@tanstack/react-query";
import { useRef } from "react";
import { postOver, Problem } from "../../../api/client";
import { toast } from "../../../shared/page/toasts";
import type { FlowView } from "../../../api/types";
import { overlap, type Changed } from "./overlap";
import { said, type ToolCall } from "./announcements";

interface Operated {
  version: number;
  execution: { error?: string | null }[];
}

/** An edit that was not made, as others have changed the same since. */
export interface Overtaken {
  calls: readonly ToolCall[];
  /** The flow that one saw when one edited. */
  before: FlowView;
  /** Of the others' changes those that are in the way; null when it is not known any more what they changed. */
  changed: readonly Changed[] | null;
  version: number;
}

interface Edit {
  calls: readonly ToolCall[];
  before: FlowView;
  over: number;
  /** What is said of it, where the calls do not say it best. */
  words?: string;
}

// Of more elements than this a refusal does not say what else has changed.
const MAX_TOLD = 100;

/** Edits by hand, one after another: each of the version that one saw, or of a newer one in which the same is as it was. */
export function useEdits(flow: FlowView, say: (words: string) => void, refresh: () => void, onFault: (error: unknown) => void) {
  // What was made here is known here, before the page has read it.
  const own = useRef(new Set<number>());
  const edit = useMutation({
    // Else an edit could go out while the one before it is on its way, and be refused for that one's sake.
    scope: { id: `flow ${flow.id}` },
    mutationFn: async ({ calls, before, over }: Edit): Promise<Operated | Overtaken> => {
      let version = over;
      while (own.current.has(version + 1)) version += 1;
      for (;;) {
        try {
          const done = await postOver<Operated>(`/v1/flows/${flow.id}/operations`, { tool_calls: calls }, `"v${version}"`);
          if (done.version > version) own.current.add(done.version);
          return done;
        } catch (error) {
          const theirs = changedSince(error);
          if (theirs === null) throw error;
          const changed = theirs.changed === null ? null : overlap(calls, theirs.changed);
          if (changed === null || changed.length > 0) return { calls, before, changed, version: theirs.version };
          version = theirs.version;
        }
      }
    },
    onSuccess: (answer, { calls, before, words }) => {
      if ("execution" in answer) {
        const error = answer.execution.find((each) => each.error)?.error;
        if (error) toast({ color: "red", title: "Not done", message: error });
        else say(words ?? said(before, calls));
      }
      refresh();
    },
    onError: onFault,
  });
  const { data } = edit;
  const overtaken = data === undefined || "execution" in data ? null : data;
  return {
    run: (calls: readonly ToolCall[], before: FlowView = flow, words?: string) => edit.mutate({ calls, before, over: before.version, ...(words === undefined ? {} : { words }) }),
    overtaken,
    again: () => overtaken !== null && edit.mutate({ calls: overtaken.calls, before: overtaken.before, over: overtaken.version }),
    drop: edit.reset,
  };
}

/** What a refusal says of the version that is there and of what changed; null when it refuses something else. */
function changedSince(error: unknown): { version: number; changed: readonly Changed[] | null } | null {
  if (!(error instanceof Problem && error.status === 412)) return null;
  const { version, changed } = error.document;
  if (typeof version !== "number") return null;
  return { version, changed: Array.isArray(changed) && changed.length < MAX_TOLD ? (changed as Changed[]) : null };
}
