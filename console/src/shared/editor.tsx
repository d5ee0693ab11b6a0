import { lazy, Suspense, type Ref } from "react";
import type { Scrolls } from "./together";

const Editor = lazy(() => import("./codemirror"));

/** A sign before a line (from 1); a screen reader hears `title`. */
export interface LineMark {
  line: number;
  sign: string;
  tone: string;
  title: string;
}

/** What the page around an editor may ask of it. */
export interface EditorHandle extends Scrolls {
  goTo: (line: number) => void;
}

interface Props {
  value: string;
  onChange: (text: string) => void;
  language: string;
  label: string;
  minHeight?: number;
  /** They move with their lines while one types. */
  marks?: readonly LineMark[];
  handle?: Ref<EditorHandle>;
  /** Offered after `{{`. */
  names?: readonly string[];
}

/** An editor for code and Markdown; its parts are loaded when the first one is shown. */
export function CodeEditor(props: Props) {
  return (
    <Suspense fallback={<textarea className="plain-input mono" aria-label={props.label} value={props.value} readOnly rows={8} style={{ width: "100%" }} />}>
      <Editor {...props} />
    </Suspense>
  );
}
