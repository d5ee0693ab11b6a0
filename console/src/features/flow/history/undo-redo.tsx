import { toast } from "../../../shared/page/toasts";
import { useMutation } from "@tanstack/react-query";
import { post, Problem } from "../../../api/client";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Failed } from "../../../shared/page/loading-states";
import { WriteButton } from "../../../shared/editing/write-button";
import { nameOf } from "../canvas/outline";
import { useNextSteps } from "./undo-labels";
import { walked } from "../editing/announcements";

interface Step {
  to: "undo" | "redo";
  scope: "all" | "mine";
}

interface Walked {
  success: boolean;
  message?: string;
  summary?: string;
}

export function useUndoRedo(flow: FlowView, say: (words: string) => void, onDone: () => void) {
  return useMutation({
    mutationFn: ({ to, scope }: Step) => post<Walked>(`/v1/flows/${flow.id}/${to}`, { scope }),
    onSuccess: (answer, { to }) => {
      const words = answer.success ? walked(to, answer.summary) : (answer.message ?? "Nothing is left");
      say(words);
      toast({ message: visible(words) });
      onDone();
    },
  });
}

/** Undo and redo are the server's: of everybody's last change, or of one's own. */
export function UndoRedo({ flow, walk, disabled }: { flow: FlowView; walk: ReturnType<typeof useUndoRedo>; disabled: boolean }) {
  const next = useNextSteps(flow.id);
  const buttons: [string, Step, string | null | undefined][] = [
    ["Undo", { to: "undo", scope: "all" }, next.undo],
    ["Undo mine", { to: "undo", scope: "mine" }, next.mine],
    ["Redo", { to: "redo", scope: "all" }, next.redo],
  ];
  return (
    <>
      {buttons.map(([words, step, change]) => (
        <WriteButton key={words} variant="default" disabled={disabled || change === null} title={change === null ? `Nothing is left to ${step.to}` : change && `${words}: ${visible(change)}`} onClick={() => walk.mutate(step)}>
          {words}
        </WriteButton>
      ))}
    </>
  );
}

/** What stands in the way of an undo, by name, and what to do about it. */
export function UndoRefusal({ flow, walk }: { flow: FlowView; walk: ReturnType<typeof useUndoRedo> }) {
  const { error, variables } = walk;
  if (error === null) return null;
  const conflicts = error instanceof Problem && error.status === 409 ? (error.document.conflicts as { kind: string; id: string }[] | undefined) : undefined;
  if (conflicts === undefined) return <Failed error={error} />;
  const mine = variables?.scope === "mine";
  return (
    <div className="callout warn tight" role="alert">
      <b>{mine ? "Your last change cannot be taken back alone" : `This cannot be ${variables?.to === "redo" ? "redone" : "undone"}`}</b>
      <span>
        Others have built on it since. In the way: {conflicts.map(({ kind, id }) => `${kind === "setting" ? "the settings" : visible(nameOf(flow, kind, id))}`).join(", ")}.
        {mine ? " Undo, without “mine”, takes the changes back one after another, the newest first." : ""}
      </span>
      <span className="bar">
        <button type="button" className="link" onClick={walk.reset}>
          Leave it so
        </button>
      </span>
    </div>
  );
}
