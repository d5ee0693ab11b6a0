import { useCallback, useEffect, useRef, useState } from "react";
import type { ValueFacts } from "./value-facts";
import { placeIn, type Place } from "./value-panel";

const LEAVES_MS = 250; // for the pointer to get from the value to its panel

interface Shown {
  element: HTMLElement;
  facts: ValueFacts;
  /** Null where it is scrolled out of sight: it is described again when it is back. */
  place: Place | null;
}

export interface HoveredValue {
  shown: Shown | null;
  keep: () => void;
  leave: () => void;
  hide: () => void;
  /** Lets an element of the page show its value, under the pointer and by the keyboard, and lead to what made it. */
  tells: (element: HTMLElement, facts: ValueFacts, onBlock: (id: string) => void) => void;
}

/** Which value of a page is described: the one under the pointer, or that has the focus. */
export function useHoveredValue(page: Document | null): HoveredValue {
  const [shown, setShown] = useState<Shown | null>(null);
  const timer = useRef(0);
  const keep = useCallback(() => window.clearTimeout(timer.current), []);
  const hide = useCallback(() => {
    keep();
    setShown(null);
  }, [keep]);
  const leave = useCallback(() => {
    keep();
    timer.current = window.setTimeout(() => setShown(null), LEAVES_MS);
  }, [keep]);
  useEffect(() => {
    const follow = (): void => setShown((now) => (now === null ? null : at(now.element, now.facts)));
    page?.addEventListener("scroll", follow, { passive: true, capture: true });
    return () => {
      page?.removeEventListener("scroll", follow, { capture: true });
      hide();
    };
  }, [page, hide]);
  const tells = useCallback(
    (element: HTMLElement, facts: ValueFacts, onBlock: (id: string) => void) => {
      const show = (): void => {
        keep();
        setShown(at(element, facts));
      };
      const go = (): void => onBlock(facts.maker.id);
      element.addEventListener("pointerenter", show);
      element.addEventListener("pointerleave", () => focused(element) || leave());
      element.addEventListener("focus", show);
      element.addEventListener("blur", () => element.matches(":hover") || leave()); // a click takes the focus to the editor
      element.addEventListener("click", (event) => {
        const chosen = element.ownerDocument.getSelection();
        if (chosen !== null && !chosen.isCollapsed) return; // the user selects words of the page
        // A finger cannot be over it first: a tap shows what it is, and the panel has the ways.
        if ((event as PointerEvent).pointerType === "touch") show();
        else go();
      });
      element.addEventListener("keydown", (event) => {
        if (event.key === "Escape") hide();
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        go();
      });
    },
    [keep, leave, hide],
  );
  return { shown, keep, leave, hide, tells };
}

function focused(element: HTMLElement): boolean {
  return element.ownerDocument.hasFocus() && element.ownerDocument.activeElement === element;
}

function at(element: HTMLElement, facts: ValueFacts): Shown {
  return { element, facts, place: placeIn(element) };
}
