import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/** What is chosen is in the address: back restores it, and it can be shared. */
export function useUrl(): [Readonly<Record<string, string>>, (changes: Record<string, string | null>) => void] {
  const search = useSearch({ strict: false }) as Record<string, string>;
  const navigate = useNavigate();
  const change = useCallback(
    (changes: Record<string, string | null>) => {
      void navigate({
        to: ".",
        replace: true,
        resetScroll: false,
        search: (now: Record<string, unknown>) => {
          const next = { ...now, ...changes };
          return Object.fromEntries(Object.entries(next).filter(([, value]) => value !== null && value !== "")) as Record<string, string>;
        },
      });
    },
    [navigate],
  );
  return [search, change];
}

/** Where the list of jobs keeps its filter, for who comes back to it from a job. */
export const LAST_FILTER = "assay.jobs.filter";

export function lastFilter(): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(LAST_FILTER) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}
