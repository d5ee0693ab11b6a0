import { ActionIcon, Menu } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { Redo2, Undo2 } from "lucide-react";
import { post, Problem } from "../../../api/client";
import { toast } from "../../../shared/page/toasts";
import type { FlowView } from "../../../api/types";
import { visible } from "../../../shared/code/ansi";
import { Failed } from "../../../shared/page/loading-states";
import { useWrite } from "../../../shared/editing/write-button";
import { Icon } from "../../../shared/values/icon";
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

/** Undo and redo are the server's: of the last change by any user. */
export function UndoRedo({ flow, walk, disabled }: { flow: FlowView; walk: ReturnType<typeof useUndoRedo>; disabled: boolean }) {
  const next = useNextSteps(flow.id);
  const write = useWrite();
  const buttons = [
    ["Undo", Undo2, { to: "undo", scope: "all" }, next.undo, "Ctrl Z"],
    ["Redo", Redo2, { to: "redo", scope: "all" }, next.redo, "Ctrl Shift Z"],
  ] as const;
  return buttons.map(([words, icon, step, change, keys]) => (
    <ActionIcon key={words} variant="subtle" color="gray" size={30} aria-label={words} disabled={disabled || change === null || !write.may} title={write.title ?? (change === null ? `Nothing is left to ${step.to}` : `${words}${change ? `: ${visible(change)}` : ""} (${keys})`)} onClick={() => walk.mutate(step)}>
      <Icon of={icon} />
    </ActionIcon>
  ));
}

/** In a menu: the user's own last change, whatever others have done since. */
export function UndoMine({ flow, walk, disabled }: { flow: FlowView; walk: ReturnType<typeof useUndoRedo>; disabled: boolean }) {
  const { mine } = useNextSteps(flow.id);
  const write = useWrite();
  return (
    <Menu.Item disabled={disabled || mine === null || !write.may} title={mine ? visible(mine) : undefined} onClick={() => walk.mutate({ to: "undo", scope: "mine" })}>
      Undo my last change
    </Menu.Item>
  );
}

/** What blocks an undo, by name, and what to do about it. */
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
