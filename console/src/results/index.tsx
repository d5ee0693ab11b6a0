import { lazy, Suspense, type ReactNode } from "react";
import type { DetectResult, DocumentResult, ExecuteResult, FlowResult, Job, SearchResult, TransformResult } from "../api/types";
import { JsonTree } from "../shared/json/json";
import { Loading } from "../shared/page/loading-states";
import type { Scrolls } from "../shared/code/scroll-sync";

const Transform = lazy(() => import("./transform-result").then((module) => ({ default: module.TransformResultView })));
const Search = lazy(() => import("./search").then((module) => ({ default: module.SearchResultView })));
const Document = lazy(() => import("./document").then((module) => ({ default: module.DocumentResultView })));
const Flow = lazy(() => import("./flow").then((module) => ({ default: module.FlowResultView })));
const Detect = lazy(() => import("./detect").then((module) => ({ default: module.DetectResultView })));
const Execute = lazy(() => import("./execute").then((module) => ({ default: module.ExecuteResultView })));

interface Props {
  job: Job;
  onAssert?: (text: string) => void;
  /** Goes to a line of a document. */
  onLine?: (line: number) => void;
  /** The editor that scrolls with a document's page. */
  beside?: Scrolls | null;
  /** Shown below a document's page, before its blocks. */
  below?: ReactNode;
}

/** A job's result as its kind shows it; a kind without a view of its own as a tree. */
export function ResultView({ job, onAssert, onLine, beside, below }: Props) {
  const result: unknown = job.result;
  return (
    <Suspense fallback={<Loading />}>
      {job.kind === "transform" ? (
        <Transform jobId={job.id} result={result as TransformResult} onAssert={onAssert} />
      ) : job.kind === "execute" ? (
        <Execute result={result as ExecuteResult} />
      ) : job.kind === "search" ? (
        <Search result={result as SearchResult} />
      ) : job.kind === "document" ? (
        <Document result={result as DocumentResult} source={(job.input as { markdown?: string } | null)?.markdown} onLine={onLine} beside={beside} below={below} />
      ) : job.kind === "flow" ? (
        <Flow result={result as FlowResult} flowId={String((job.input as { flow_id?: string } | null)?.flow_id ?? "")} />
      ) : job.kind === "detect" ? (
        <Detect jobId={job.id} result={result as DetectResult} />
      ) : (
        <JsonTree value={result} label="result" />
      )}
    </Suspense>
  );
}
