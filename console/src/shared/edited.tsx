import { useMutation } from "@tanstack/react-query";
import { lazy, Suspense, type ReactNode } from "react";
import { Problem, type Tagged } from "../api/client";
import { useDraft } from "./draft";

const Overtaken = lazy(() => import("./overtaken"));

interface Options<T, D> {
  /** Under which the edit is kept in the tab, so that another page, a reload or the end of a session loses nothing. */
  name: string;
  /** What is saved, as it was read last. */
  now: Tagged<T>;
  /** What of it is edited. */
  draftOf: (value: T) => D;
  write: (draft: D, tag: string | null) => Promise<unknown>;
  /** Reads what is saved anew. */
  read: () => Promise<Tagged<T>>;
}

export interface Edited<T, D> {
  draft: D;
  /** What it was when one began to edit. */
  before: D;
  changed: boolean;
  change: (draft: D) => void;
  /** What is saved stands again. */
  drop: () => void;
  save: () => void;
  saving: boolean;
  error: Error | null;
  conflict: Conflict_<T> | null;
}

interface Conflict_<T> {
  theirs: T;
  take: () => void;
  saveOver: () => void;
  keep: () => void;
}

/**
 * An edit of something that others may save meanwhile. It goes on from what was there when it began, whatever is read
 * since, so that nobody's version is lost unseen: when another one is saved, both are shown.
 */
export function useEdited<T, D>({ name, now, draftOf, write, read }: Options<T, D>): Edited<T, D> {
  const [edit, setEdit] = useDraft<{ base: Tagged<T>; draft: D } | null>(`edited.${name}`, null);
  const base = edit?.base ?? now;
  const before = draftOf(base.value);
  const draft = edit?.draft ?? before;
  const save = useMutation({
    /** What somebody else has saved meanwhile; null when it is saved. */
    mutationFn: async (over: Tagged<T> | null): Promise<Tagged<T> | null> => {
      const theirs = await tryTo(write, draft, (over ?? base).tag, read);
      if (theirs === null) return null;
      // Another part has changed, or it was changed back: what is edited here is as it was.
      if (same(draftOf(theirs.value), before)) return tryTo(write, draft, theirs.tag, read);
      return theirs;
    },
    onSuccess: async (theirs) => {
      if (theirs !== null) return;
      await read();
      setEdit(null);
    },
  });
  const theirs = save.data ?? null;
  const drop = (): void => {
    save.reset();
    setEdit(null);
  };
  return {
    draft,
    before,
    changed: !same(draft, before),
    change: (next) => setEdit(same(next, before) ? null : { base, draft: next }),
    drop,
    save: () => save.mutate(null),
    saving: save.isPending,
    error: save.error,
    conflict: theirs === null ? null : { theirs: theirs.value, take: drop, saveOver: () => save.mutate(theirs), keep: save.reset },
  };
}

/** Null when it is written, else what stands there instead. Raises: Problem. */
async function tryTo<T, D>(write: (draft: D, tag: string | null) => Promise<unknown>, draft: D, tag: string | null, read: () => Promise<Tagged<T>>): Promise<Tagged<T> | null> {
  try {
    await write(draft, tag);
    return null;
  } catch (error) {
    if (!(error instanceof Problem && error.status === 412)) throw error;
    return read();
  }
}

function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Theirs and mine as a difference, and what can be done; nothing while nobody else has saved. */
export function Conflict<T, D>({ edited, textOf, draftOf, who }: { edited: Edited<T, D>; textOf: (draft: D) => string; draftOf: (value: T) => D; who?: (theirs: T) => ReactNode }) {
  const { conflict, draft, saving } = edited;
  if (conflict === null) return null;
  return (
    <Suspense>
      <Overtaken theirs={textOf(draftOf(conflict.theirs))} mine={textOf(draft)} who={who?.(conflict.theirs)} saving={saving} onTake={conflict.take} onSaveOver={conflict.saveOver} onKeep={conflict.keep} />
    </Suspense>
  );
}
