import { lazy, Suspense } from "react";
import { Loading } from "./states";

const Tree = lazy(() => import("./json-tree"));

/** A value as a tree with a search; its parts are loaded when the first one is shown. */
export function JsonTree(props: { value: unknown; label: string }) {
  return (
    <Suspense fallback={<Loading />}>
      <Tree {...props} />
    </Suspense>
  );
}

export function download(content: string | Blob, name: string): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content]) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
