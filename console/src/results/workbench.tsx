import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, type ReactNode } from "react";
import { jobQuery } from "../api/queries";
import type { Job, JobEvent } from "../api/types";
import { Empty } from "../shared/page/loading-states";
import { useUrl } from "../shared/page/url";
import { FollowedJob } from "./followed-job";
import { RecentJobs } from "./recent-jobs";

interface WorkbenchJob {
  id: string | undefined;
  /** The job of the address, when it is of this kind. */
  job: Job | undefined;
  /** Goes to a job that was submitted from here; `more` are other parts of the address. */
  show: (made: Job, more?: Record<string, string | null>) => void;
}

/** The job that a workbench works on. One that is opened by its address fills the form, once; one that was submitted from here came from it. */
export function useWorkbenchJob(kind: string, fill: (job: Job) => void): WorkbenchJob {
  const [url, change] = useUrl();
  const asked = useQuery({ ...jobQuery(url.job ?? ""), enabled: url.job !== undefined }).data;
  const job = asked?.kind === kind ? asked : undefined;
  const filled = useRef(false);
  const latest = useRef(fill);
  latest.current = fill;
  useEffect(() => {
    if (filled.current || job === undefined) return;
    filled.current = true;
    latest.current(job);
  }, [job]);
  const show = (made: Job, more: Record<string, string | null> = {}): void => {
    filled.current = true;
    change({ job: made.id, ...more });
  };
  return { id: url.job, job, show };
}

/** A workbench's right side: what will appear here, or the job as it runs. */
export function JobSide({ id, kind, empty, hint, children }: { id: string | undefined; kind: string; empty: string; hint: string; children: (job: Job, events: readonly JobEvent[]) => ReactNode }) {
  return (
    <div className="stack">
      {id === undefined ? (
        <>
          <Empty title={empty}>{hint}</Empty>
          <RecentJobs kind={kind} />
        </>
      ) : (
        <FollowedJob id={id}>{children}</FollowedJob>
      )}
    </div>
  );
}
