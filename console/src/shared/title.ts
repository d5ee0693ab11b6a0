import { useEffect } from "react";

/** The tab's title names the object and its state. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Assay`;
  }, [title]);
}
