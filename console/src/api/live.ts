import { useQueryClient, type InfiniteData, type QueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useVisible } from "./events";
import { follow } from "./follow";
import { ALL_JOBS, FROM_NOW, type Liveness, type News } from "./news";
import type { Job, Page } from "./types";

/** Every job of the tenant as it changes; null when changes may be missing. Hidden tabs watch nothing. */
export function useLiveJobs(tenant: string | undefined, onJob: (job: Job | null) => void): Liveness {
  const [liveness, setLiveness] = useState<Liveness>("live");
  const visible = useVisible();
  const hear = useRef(onJob);
  hear.current = onJob;
  useEffect(() => {
    if (tenant === undefined) return undefined;
    if (!visible) {
      setLiveness("paused");
      return undefined;
    }
    setLiveness("live");
    const onNews = (news: readonly News[]): void => {
      for (const each of news) hear.current("job" in each ? each.job : null);
    };
    return follow({ topic: ALL_JOBS, after: FROM_NOW, onNews, onState: setLiveness });
  }, [tenant, visible]);
  return liveness;
}

/** The job as it is now, wherever a list shows it; false when the list of this key does not. */
export function patch(client: QueryClient, key: readonly unknown[], job: Job): boolean {
  let shown = false;
  client.setQueryData<InfiniteData<Page<Job>>>(key, (data) => {
    if (data === undefined || !data.pages.some((page) => page.items.some(({ id }) => id === job.id))) return data;
    shown = true;
    return { ...data, pages: data.pages.map((page) => ({ ...page, items: page.items.map((each) => (each.id === job.id ? job : each)) })) };
  });
  return shown;
}

const AGAIN_MS = 1000;

/** Reads lists again, at once and then once a second at most, however much changes. */
export function useRefresh(...keys: readonly string[][]): () => void {
  const client = useQueryClient();
  const due = useRef<ReturnType<typeof setTimeout> | null>(null);
  const at = useRef(0);
  useEffect(() => () => clearTimeout(due.current ?? undefined), []);
  return () => {
    if (due.current !== null) return;
    due.current = setTimeout(
      () => {
        due.current = null;
        at.current = Date.now();
        for (const queryKey of keys) void client.invalidateQueries({ queryKey });
      },
      Math.max(0, at.current + AGAIN_MS - Date.now()),
    );
  };
}
