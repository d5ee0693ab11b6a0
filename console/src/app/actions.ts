import { useEffect, useRef } from "react";

/** Something that one can do on this page. */
export interface Action {
  name: string;
  /** The key that does the same. */
  hint?: string;
  go: () => void;
}

const offered = new Set<() => readonly Action[]>();

/** While this part of the page is there, the palette lists them too. Buttons that write are listed by themselves. */
export function useActions(actions: readonly Action[]): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const own = (): readonly Action[] => latest.current;
    offered.add(own);
    return () => void offered.delete(own);
  }, []);
}

/** What can be done on the page as it is now, each name once. */
export function actionsHere(): Action[] {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>("#main [data-action]:not(:disabled)")];
  const written = buttons.map((button) => ({ name: (button.ariaLabel ?? button.textContent).trim(), go: () => button.click() }));
  return onceEach([...written, ...[...offered].flatMap((own) => own())]);
}

export function onceEach(actions: readonly Action[]): Action[] {
  const first = new Map<string, Action>();
  for (const action of actions) if (!first.has(action.name)) first.set(action.name, action);
  return [...first.values()];
}

/** Those whose name has all words of it; what begins with it comes first, else the order stays. */
export function matching<T extends { name: string }>(choices: readonly T[], text: string): T[] {
  const wanted = text.trim().toLowerCase();
  const fit = choices.filter(({ name }) => wanted.split(/\s+/).every((word) => name.toLowerCase().includes(word)));
  const begins = ({ name }: T): boolean => wanted !== "" && name.toLowerCase().startsWith(wanted);
  return [...fit.filter(begins), ...fit.filter((choice) => !begins(choice))];
}
