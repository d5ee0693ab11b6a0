import { queryOptions, useQuery } from "@tanstack/react-query";
import { get, type Query } from "./client";
import { belongTo } from "./session";
import { TERMINAL, type Job, type JobPage, type LlmCall, type Session } from "./types";

const sessionQuery = queryOptions({ queryKey: ["session"], queryFn: whose, staleTime: 60_000 });

async function whose(): Promise<Session> {
  const session = await get<Session>("/v1/session");
  belongTo(session.tenant);
  return session;
}

/** Whose key this is, and what it may. */
export function useSession(): Session | undefined {
  return useQuery(sessionQuery).data;
}

/** A job; polled now and then until it has ended, in addition to its events. */
export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id],
    queryFn: () => get<Job>(`/v1/jobs/${encodeURIComponent(id)}`),
    refetchInterval: (query) => (query.state.data !== undefined && TERMINAL.has(query.state.data.state) ? false : 2000),
  });

export const callsQuery = (id: string, ended: boolean) =>
  queryOptions({
    queryKey: ["calls", id, ended],
    queryFn: () => get<{ items: LlmCall[] }>(`/v1/jobs/${encodeURIComponent(id)}/llm-calls`).then((answer) => answer.items),
    refetchInterval: ended ? false : 2000,
    placeholderData: (before: LlmCall[] | undefined) => before,
  });

export function useJob(id: string) {
  return useQuery(jobQuery(id));
}

export function jobsPage(query: Query, signal?: AbortSignal): Promise<JobPage> {
  return get<JobPage>("/v1/jobs", query, signal);
}

/** The ids of the list of jobs as it was sorted last. */
export const SHOWN_ORDER = ["shown-order"] as const;
