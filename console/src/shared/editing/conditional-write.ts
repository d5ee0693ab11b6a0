import { useMutation } from "@tanstack/react-query";
import { Problem, type Tagged } from "../../api/client";

interface Options<T, A> {
  /** What is saved, as the one who acts has seen it. */
  base: Tagged<T>;
  /** What of it is at stake: when others change something else, the write continues. */
  partOf: (value: T) => unknown;
  write: (action: A, tag: string | null) => Promise<unknown>;
  /** Reads the saved version again. */
  read: () => Promise<Tagged<T>>;
  onDone?: () => void;
}

/** Another version is there than the one that was seen, and nothing is written yet. */
export interface Conflict<T, A> {
  theirs: T;
  mine: A;
  /** Theirs stays. */
  take: () => void;
  saveOver: () => void;
  /** Null where there is nothing to continue editing. */
  keep: (() => void) | null;
}

export interface ConditionalWrite<T, A> {
  act: (action: A) => void;
  /** ConditionalWrite this version, which was seen by now. */
  actOver: (action: A, seen: Tagged<T>) => void;
  /** What is done at the moment, or was done last. */
  action: A | undefined;
  pending: boolean;
  error: Error | null;
  /** What others have saved meanwhile. */
  theirs: Tagged<T> | null;
  conflict: Conflict<T, A> | null;
  reset: () => void;
}

/** Something done to what others may change meanwhile: only over the version that was seen. */
export function useConditionalWrite<T, A>({ base, partOf, write, read, onDone }: Options<T, A>): ConditionalWrite<T, A> {
  const run = useMutation({
    /** The version of another user that is in the way; null when it is done. */
    mutationFn: async ({ action, seen }: { action: A; seen: Tagged<T> }): Promise<Tagged<T> | null> => {
      const theirs = await tryTo(write, action, seen.tag, read);
      if (theirs === null || !same(partOf(theirs.value), partOf(seen.value))) return theirs;
      // Something else has changed, or it was changed back: what is at stake is as it was seen.
      return tryTo(write, action, theirs.tag, read);
    },
    onSuccess: async (theirs) => {
      if (theirs !== null) return;
      await read();
      onDone?.();
    },
  });
  const { reset } = run;
  const theirs = run.data ?? null;
  const action = run.variables?.action;
  const actOver = (next: A, seen: Tagged<T>): void => run.mutate({ action: next, seen });
  const conflict = theirs === null || action === undefined ? null : { theirs: theirs.value, mine: action, take: reset, saveOver: () => actOver(action, theirs), keep: null };
  return { act: (next) => actOver(next, base), actOver, action, pending: run.isPending, error: run.error, theirs, conflict, reset };
}

/** Null when it is written, else what is saved instead. Raises: Problem. */
async function tryTo<T, A>(write: (action: A, tag: string | null) => Promise<unknown>, action: A, tag: string | null, read: () => Promise<Tagged<T>>): Promise<Tagged<T> | null> {
  try {
    await write(action, tag);
    return null;
  } catch (error) {
    if (!(error instanceof Problem && error.status === 412)) throw error;
    return read();
  }
}

export function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
