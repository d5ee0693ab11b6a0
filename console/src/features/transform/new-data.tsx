import { useQuery } from "@tanstack/react-query";
import { get } from "../../api/client";
import type { FileRows, TransformResult } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Loading } from "../../shared/page/loading-states";
import { FileDrop, type Uploaded } from "../../shared/files/upload";
import { useUrl } from "../../shared/page/url";
import { WriteButton } from "../../shared/editing/write-button";
import { driftOf, toldDrift, type Drift } from "./drift";

/** Another file for the code as it is: first how its columns differ, then the run. */
export function NewData({ input, run }: { input: NonNullable<TransformResult["inputs"]>[number] | undefined; run: (fileId: string) => void }) {
  const [url, change] = useUrl();
  const id = url.on;
  const file = useQuery({ queryKey: ["file", id], queryFn: () => get<Uploaded>(`/v1/files/${id}`), enabled: id !== undefined, staleTime: Infinity });
  const head = useQuery({ queryKey: ["file-rows", id, "head"], queryFn: () => get<FileRows>(`/v1/files/${id}/rows`, { limit: 20 }), enabled: id !== undefined, staleTime: Infinity, retry: false });
  if (input === undefined) return null;
  const chosen = id === undefined ? [] : [file.data ?? { id, name: "a file", size: 0 }];
  return (
    <section className="tight" aria-label="New data">
      <FileDrop label="Run on new data, without a model" many={false} files={chosen} onChange={(files) => change({ on: files[0]?.id ?? null })} />
      {id === undefined ? null : (
        <>
          {head.isPending ? <Loading rows={1} /> : head.data === undefined ? <span className="muted">Its columns are read when it runs.</span> : <DriftList drift={driftOf(input.name, input.columns, head.data.columns)} same />}
          <span>
            <WriteButton disabled={head.isPending} onClick={() => run(id)}>
              Run it on this
            </WriteButton>
          </span>
        </>
      )}
    </section>
  );
}

/** How data differ from what the code was made for; with `same`, also that they do not. */
export function DriftList({ drift, same = false }: { drift: readonly Drift[]; same?: boolean }) {
  if (drift.length === 0) return same ? <div className="callout good">It has the columns that the code was made for.</div> : null;
  return (
    <div className="callout warn">
      <b>The data is not what the code was made for</b>
      {drift.map((each) => (
        <div key={`${each.data}.${each.column}`}>
          <code>
            {visible(each.data)}.{visible(each.column)}
          </code>{" "}
          {visible(toldDrift(each))}
        </div>
      ))}
    </div>
  );
}
