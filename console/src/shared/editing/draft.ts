import { useEffect, useState } from "react";
import { DRAFTS } from "../../api/session";

/** What is typed into a form, kept in the tab: a reload, an expired session or a slip of the mouse loses nothing. */
export function useDraft<T>(name: string, start: T): [T, (value: T | ((now: T) => T)) => void] {
  const place = DRAFTS + name;
  const [value, setValue] = useState<T>(() => {
    const kept = sessionStorage.getItem(place);
    return kept === null ? start : (JSON.parse(kept) as T);
  });
  useEffect(() => {
    const text = JSON.stringify(value);
    if (text.length < 1_000_000) sessionStorage.setItem(place, text);
  }, [place, value]);
  return [value, setValue];
}
