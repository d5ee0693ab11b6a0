import { lazy, Suspense, type ReactNode } from "react";
import type { Tagged } from "../../api/client";
import { useDraft } from "./draft";
import { same, useConditionalWrite, type Conflict } from "./conditional-write";

const Overtaken = lazy(() => import("./conflict"));

interface Options<T, D> {
  /** Under which the edit is kept in the tab, so that another page, a reload or the end of a session loses nothing. */
  name: string;
  /** What is saved, as it was read last. */
  now: Tagged<T>;
  /** What of it is edited. */
  draftOf: (value: T) => D;
  write: (draft: D, tag: string | null) => Promise<unknown>;
  /** Reads the saved version again. */
  read: () => Promise<Tagged<T>>;
}

export interface Edited<T, D> {
  draft: D;
  /** What it was when one began to edit. */
  before: D;
  changed: boolean;
  change: (draft: D) => void;
  /** Shows the saved version again. */
  drop: () => void;
  save: () => void;
  saving: boolean;
  error: Error | null;
  conflict: Conflict<T, D> | null;
}

/**
 * An edit of something that others may save meanwhile. It starts from what was there when it began, whatever is read
 * since, so that no version is lost unseen: when another one is saved, both are shown.
 */
export function useEdited<T, D>({ name, now, draftOf, write, read }: Options<T, D>): Edited<T, D> {
  const [edit, setEdit] = useDraft<{ base: Tagged<T>; draft: D } | null>(`edited.${name}`, null);
  const base = edit?.base ?? now;
  const before = draftOf(base.value);
  const draft = edit?.draft ?? before;
  const over = useConditionalWrite<T, D>({ base, partOf: draftOf, write, read, onDone: () => setEdit(null) });
  const { theirs, reset } = over;
  const drop = (): void => {
    reset();
    setEdit(null);
  };
  return {
    draft,
    before,
    changed: !same(draft, before),
    change: (next) => setEdit(same(next, before) ? null : { base, draft: next }),
    drop,
    save: () => over.act(draft),
    saving: over.pending,
    error: over.error,
    conflict: theirs === null ? null : { theirs: theirs.value, mine: draft, take: drop, saveOver: () => over.actOver(draft, theirs), keep: reset },
  };
}

interface BothProps<T, A> {
  conflict: Conflict<T, A> | null;
  saving: boolean;
  theirs: (value: T) => string;
  mine: (action: A) => string;
  who?: (theirs: T) => ReactNode;
}

/** Theirs and mine as a difference, and what can be done; nothing while no other user has saved. */
export function BothVersions<T, A>({ conflict, saving, theirs, mine, who }: BothProps<T, A>) {
  if (conflict === null) return null;
  return (
    <Suspense>
      <Overtaken
        theirs={theirs(conflict.theirs)}
        mine={mine(conflict.mine)}
        who={who?.(conflict.theirs)}
        saving={saving}
        onTake={conflict.take}
        onSaveOver={conflict.saveOver}
        onKeep={conflict.keep}
      />
    </Suspense>
  );
}
