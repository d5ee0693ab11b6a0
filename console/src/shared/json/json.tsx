import { lazy, Suspense } from "react";
import { Loading } from "../page/loading-states";

const Tree = lazy(() => import("./json-tree"));

/** A value as a tree with a search; its parts are loaded when the first one is shown. */
export function JsonTree(props: { value: unknown; label: string }) {
  return (
    <Suspense fallback={<Loading />}>
      <Tree {...props} />
    </Suspense>
  );
}
