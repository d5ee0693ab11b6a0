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

/** Lists whose filter this tab keeps, for who comes back by the menu, a key or from a job. */
const KEPT: ReadonlySet<string> = new Set(["/jobs", "/usage", "/evaluations"]);

/** Keep the filter of a list that is shown. */
export function keepFilter(path: string, url: Readonly<Record<string, string>>): void {
  if (KEPT.has(path)) sessionStorage.setItem(`assay.filter.${path}`, JSON.stringify(url));
}

/** The filter that a list had when it was left; none of a place that is shown, so that its link clears it. */
export function lastFilter(path = "/jobs", now: string | null = null): Record<string, string> {
  if (!KEPT.has(path) || path === now) return {};
  try {
    return JSON.parse(sessionStorage.getItem(`assay.filter.${path}`) ?? "{}") as Record<string, string>;
  } catch {
    return {};
  }
}
