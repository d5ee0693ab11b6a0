import { lazy, Suspense, useId } from "react";
import { Fault } from "../editing/field-errors";
import type { EditorProps } from "./editor-props";

const Editor = lazy(() => import("./codemirror"));

/** An editor for code and Markdown; its parts are loaded when the first one is shown. */
export function CodeEditor({ error, ...props }: EditorProps) {
  const id = useId();
  return (
    <div className="tight">
      <Suspense fallback={<textarea className="plain-input mono" aria-label={props.label} value={props.value} readOnly rows={8} style={{ width: "100%" }} />}>
        <Editor {...props} fault={error === undefined ? undefined : id} />
      </Suspense>
      <Fault id={id} text={error} />
    </div>
  );
}
