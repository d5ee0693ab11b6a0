import type { Ref } from "react";
import type { Scrolls } from "./scroll-sync";

/** A sign before a line (from 1); a screen reader hears `title`. */
export interface LineMark {
  line: number;
  sign: string;
  tone: string;
  title: string;
}

/** What the page around an editor may call. */
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
