import { lazy, Suspense, useId, type Ref } from "react";
import { Fault } from "./faults";
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

export interface EditorProps {
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
  /** What is wrong with the text. */
  error?: string;
}

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
