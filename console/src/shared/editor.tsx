import { lazy, Suspense } from "react";

const Editor = lazy(() => import("./codemirror"));

interface Props {
  value: string;
  onChange: (text: string) => void;
  language: string;
  label: string;
  minHeight?: number;
}

/** An editor for code and Markdown; its parts are loaded when the first one is shown. */
export function CodeEditor(props: Props) {
  return (
    <Suspense fallback={<textarea className="plain-input mono" aria-label={props.label} value={props.value} readOnly rows={8} style={{ width: "100%" }} />}>
      <Editor {...props} />
    </Suspense>
  );
}
