import { useEffect, type ReactNode } from "react";
import type { Job, JobEvent, SearchResult } from "../api/types";
import { CallStrip, callTurnsOf } from "./calls";
import { PlanStrip, plansOf } from "./plans";
import { attemptsOf, RepairStrip } from "./transform";

interface Props {
  job: Job;
  events: readonly JobEvent[];
  /** The turn that is chosen. */
  turn: number | null;
  /** Content below an attempt. */
  below: (attempt: { number: number; code?: string; outcome?: string; queries?: readonly object[] }) => ReactNode;
}

/** The repair strip of whatever kind makes attempts: code, plans of queries, calls of tools. */
export function Attempts({ job, events, turn, below }: Props) {
  useEffect(() => {
    if (turn !== null) document.querySelector(`[data-attempt="${turn}"]`)?.scrollIntoView({ block: "nearest" });
  }, [turn]);
  if (job.kind === "search") return <PlanStrip attempts={plansOf(resultOf(job), events)} whyEmpty={resultOf(job)?.why_empty ?? []} chosen={turn} below={below} />;
  if (job.kind === "flow") return <CallStrip turns={callTurnsOf(events)} chosen={turn} />;
  return <RepairStrip attempts={attemptsOf(job, events)} chosen={turn} below={below} />;
}

export function attemptCount(job: Job, events: readonly JobEvent[]): number {
  if (job.kind === "search") return plansOf(resultOf(job), events).length;
  if (job.kind === "flow") return callTurnsOf(events).length;
  return attemptsOf(job, events).length;
}

function resultOf(job: Job): SearchResult | null {
  return (job.result ?? null) as SearchResult | null;
}
