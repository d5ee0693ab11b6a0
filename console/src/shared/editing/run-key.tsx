import type { KeyboardEvent } from "react";

/** Handles Ctrl or Command and Enter of a form, before an editor in it makes a line of it. */
export function runKey(run: () => void, ready: boolean): (event: KeyboardEvent) => void {
  return (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    if (ready) run();
  };
}

/** The keys, in the button that they press; they are not part of its name. */
export function RunKeys() {
  return <kbd aria-hidden="true">Ctrl ↵</kbd>;
}
