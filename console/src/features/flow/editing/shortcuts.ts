import { useEffect, useRef } from "react";
import { isTyping, keysAreOn } from "../../../app/keys";

/** What keys do on the canvas; what is missing cannot be done now. */
export interface Shortcuts {
  undo?: () => void;
  redo?: () => void;
  selectAll: () => void;
  duplicate?: () => void;
  group?: () => void;
  ungroup?: () => void;
  rename?: () => void;
  remove?: () => void;
  add?: () => void;
  link?: () => void;
  find: () => void;
  fit: () => void;
  selecting: (on: boolean) => void;
  letGo: () => void;
  copy: () => string | null;
  cut?: () => void;
  paste?: (text: string) => void;
}

function ofKey(event: KeyboardEvent, keys: Shortcuts): (() => void) | undefined {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) {
    if (event.altKey) return undefined;
    if (key === "z") return event.shiftKey ? keys.redo : keys.undo;
    if (key === "y") return keys.redo;
    if (key === "a") return keys.selectAll;
    if (key === "d") return keys.duplicate;
    if (key === "g") return event.shiftKey ? keys.ungroup : keys.group;
    return key === "f" ? keys.find : undefined;
  }
  if (event.altKey) return undefined;
  if (event.key === "F2") return keys.rename;
  if (event.key === "Delete" || event.key === "Backspace") return keys.remove;
  if (event.key === "Escape") return keys.letGo;
  if (!keysAreOn()) return undefined;
  if (event.shiftKey && event.code === "Digit1") return keys.fit;
  if (event.shiftKey) return undefined;
  if (key === "n") return keys.add;
  if (key === "l") return keys.link;
  if (key === "v") return () => keys.selecting(true);
  return key === "h" ? () => keys.selecting(false) : undefined;
}

/** The canvas never sees a key go up in a field that it opened, and would take it for held: then it forgets all keys. */
function releaseKeys(): void {
  setTimeout(() => window.dispatchEvent(new Event("blur")));
}

/** Whether something over the page has the keys: a menu, a dialog. */
function isElsewhere(target: EventTarget | null): boolean {
  return isTyping(target) || (target instanceof HTMLElement && target.closest('[role="menu"], [role="dialog"], [role="listbox"]') !== null);
}

/** The keys of the canvas, wherever on the page one is but in a field; copy, cut and paste are those of the browser. */
export function useShortcuts(keys: Shortcuts): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || isElsewhere(event.target)) return;
      const run = ofKey(event, now.current);
      if (run === undefined) return;
      if (event.key !== "Escape") event.preventDefault();
      run();
      releaseKeys();
    };
    const isText = (): boolean => (getSelection()?.toString() ?? "") !== "";
    const copy = (event: ClipboardEvent): void => {
      const text = isElsewhere(event.target) || isText() ? null : now.current.copy();
      if (text === null) return;
      event.preventDefault();
      event.clipboardData?.setData("text/plain", text);
      if (event.type === "cut") now.current.cut?.();
    };
    const paste = (event: ClipboardEvent): void => {
      const text = event.clipboardData?.getData("text/plain") ?? "";
      if (isElsewhere(event.target) || text === "" || now.current.paste === undefined) return;
      event.preventDefault();
      now.current.paste(text);
    };
    window.addEventListener("keydown", press);
    document.addEventListener("copy", copy);
    document.addEventListener("cut", copy);
    document.addEventListener("paste", paste);
    return () => {
      window.removeEventListener("keydown", press);
      document.removeEventListener("copy", copy);
      document.removeEventListener("cut", copy);
      document.removeEventListener("paste", paste);
    };
  }, []);
}
