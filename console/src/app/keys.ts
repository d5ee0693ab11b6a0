import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { PLACES } from "./places";

/** Keys that work on every page: Ctrl K, g and a letter, / to filter. Off where one types, and when switched off. */
export function useKeys({ openPalette }: { openPalette: () => void }): void {
  const navigate = useNavigate();
  const going = useRef(0);
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !keysAreOn()) return;
      if (event.key === "g") {
        going.current = Date.now();
      } else if (Date.now() - going.current < 1500) {
        going.current = 0;
        const place = PLACES.find((each) => each.key === event.key);
        if (place !== undefined) void navigate({ to: place.path });
      } else if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("[data-filter]");
        if (filter !== null) {
          event.preventDefault();
          filter.focus();
        }
      } else if (event.key === "?") {
        openPalette();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [navigate, openPalette]);
}

export function keysAreOn(): boolean {
  return localStorage.getItem("assay.keys") !== "off";
}

export function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
