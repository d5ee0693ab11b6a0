import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";
import { lastFilter } from "../shared/page/url";
import { PLACES } from "./navigation";

let going = 0;

/** Whether g was pressed a moment ago: then the next letter names a place. */
export function isGoing(): boolean {
  return Date.now() - going < 1500;
}

/** Keys that work on every page: Ctrl K, g and a letter, / to filter. Off where one types, and when switched off. */
export function useKeys({ openPalette }: { openPalette: () => void }): void {
  const navigate = useNavigate();
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || !keysAreOn()) return;
      if (event.key === "g") {
        going = Date.now();
      } else if (isGoing()) {
        going = 0;
        const place = PLACES.find((each) => each.key === event.key);
        if (place !== undefined) void navigate({ to: place.path, search: lastFilter(place.path, location.pathname) as never });
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
