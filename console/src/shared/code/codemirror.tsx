import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { defineLanguageFacet, HighlightStyle, Language, LanguageSupport, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { Compartment, EditorState, RangeSet, StateEffect, StateField, type Extension } from "@codemirror/state";
import { EditorView, gutter, GutterMarker, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useImperativeHandle, useRef, type RefObject } from "react";
import { nonce } from "../../app/theme";
import { completesNames, setNames } from "./completion";
import { invalid } from "../editing/field-errors";
import type { EditorProps, LineMark } from "./editor-props";
import type { Scrolls } from "./scroll-sync";

/** Tab indents: a text says how to leave the editor without a pointer. */
const LEAVING = "Tab indents. To leave the editor press Escape, then Tab.";

// Each is a file of its own: most pages need one. Not the packages lang-python and its like: each brings a grammar, a parser and
// completion, a third of the editor's size, for colours that these tokenizers give as well.
const LANGUAGES: Readonly<Record<string, () => Promise<Extension>>> = {
  python: async () => tokens((await import("@codemirror/legacy-modes/mode/python")).python),
  javascript: async () => tokens((await import("@codemirror/legacy-modes/mode/javascript")).javascript),
  sql: async () => tokens((await import("@codemirror/legacy-modes/mode/sql")).standardSQL),
  r: async () => tokens((await import("@codemirror/legacy-modes/mode/r")).r),
  // Not lang-markdown: it brings the parsers of HTML, CSS and JavaScript, twice the size of the editor.
  markdown: async () => {
    const { parser } = await import("@lezer/markdown");
    return new LanguageSupport(new Language(defineLanguageFacet(), parser, [], "markdown"));
  },
};

function tokens(parser: StreamParser<unknown>): Extension {
  return StreamLanguage.define(parser);
}

// The editor's own colours cannot be read in the dark; these follow the scheme.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--warn)" },
  { tag: tags.comment, color: "var(--text-3)", fontStyle: "italic" },
  { tag: [tags.heading, tags.strong], fontWeight: "bold" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.link, textDecoration: "underline" },
]);

const look = EditorView.theme({
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--text)" },
  ".cm-gutters": { background: "var(--bg-subtle)", color: "var(--text-3)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-soft) !important" },
  ".cm-scroller": { maxHeight: "60vh" },
});

/** `fault`: the id of what says what is wrong with the text. */
type Props = Omit<EditorProps, "error"> & { fault: string | undefined };

const setMarks = StateEffect.define<readonly LineMark[]>();

class Mark extends GutterMarker {
  constructor(private readonly mark: LineMark) {
    super();
  }
  override eq(other: Mark): boolean {
    return other.mark.sign === this.mark.sign && other.mark.title === this.mark.title;
  }
  override toDOM(): Node {
    const sign = document.createElement("span");
    sign.className = `line-mark ${this.mark.tone}`;
    sign.textContent = this.mark.sign;
    sign.title = this.mark.title;
    return sign;
  }
}

const marked = StateField.define<RangeSet<GutterMarker>>({
  create: () => RangeSet.empty,
  update: (before, transaction) => {
    const setting = transaction.effects.find((effect) => effect.is(setMarks));
    if (setting === undefined) return before.map(transaction.changes);
    const { doc } = transaction.state;
    const there = (setting.value as readonly LineMark[]).filter(({ line }) => line >= 1 && line <= doc.lines);
    return RangeSet.of(
      there.map((mark) => new Mark(mark).range(doc.line(mark.line).from)),
      true,
    );
  },
});

/** From where to where the first text is another than the second. */
function changedPart(before: string, after: string): [number, number] {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from += 1;
  let same = 0;
  while (same < shorter - from && before[before.length - 1 - same] === after[after.length - 1 - same]) same += 1;
  return [from, before.length - same];
}

/** The editor as something that scrolls by lines. */
function scrolls(view: RefObject<EditorView | null>): Scrolls {
  return {
    top: () => {
      const shown = view.current;
      if (shown === null) return 1;
      const block = shown.lineBlockAtHeight(shown.scrollDOM.scrollTop);
      return shown.state.doc.lineAt(block.from).number + (shown.scrollDOM.scrollTop - block.top) / block.height;
    },
    setTop: (line) => {
      const shown = view.current;
      if (shown === null) return;
      const whole = Math.min(Math.max(Math.floor(line), 1), shown.state.doc.lines);
      const block = shown.lineBlockAt(shown.state.doc.line(whole).from);
      shown.scrollDOM.scrollTop = block.top + (line - whole) * block.height;
    },
    onScroll: (scrolled) => {
      const scroller = view.current?.scrollDOM;
      scroller?.addEventListener("scroll", scrolled, { passive: true });
      return () => scroller?.removeEventListener("scroll", scrolled);
    },
  };
}

export default function Editor({ value, onChange, language, label, minHeight = 160, marks, handle, names, fault }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const latestMarks = useRef(marks);
  latestMarks.current = marks;
  const latestFault = useRef(fault);
  latestFault.current = fault;
  const changed = useRef(onChange);
  changed.current = onChange;
  useEffect(() => {
    const spoken = new Compartment();
    const made = new EditorView({
      parent: host.current!,
      state: EditorState.create({
        doc: value,
        extensions: [
          marks === undefined ? [] : [marked, gutter({ class: "cm-marks", markers: (shown) => shown.state.field(marked) })],
          names === undefined ? [] : completesNames(),
          lineNumbers(),
          history(),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.lineWrapping,
          EditorView.cspNonce.of(nonce),
          // What is edited has the focus anyway; said aloud, it also makes what scrolls around it known to be reachable.
          EditorView.contentAttributes.of(() => ({ "aria-label": label, "aria-description": LEAVING, tabindex: "0", ...invalid(latestFault.current ?? "", latestFault.current) })),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current(update.state.doc.toString());
          }),
          syntaxHighlighting(colours),
          look,
          EditorView.theme({ ".cm-content": { minHeight: `${minHeight}px` } }),
          spoken.of([]),
        ],
      }),
    });
    view.current = made;
    let gone = false;
    void LANGUAGES[language]?.().then((extension) => {
      if (!gone) made.dispatch({ effects: spoken.reconfigure(extension) });
    });
    return () => {
      gone = true;
      made.destroy();
    };
    // The text is the editor's own from here on; what comes from outside is put in below.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [language, label, minHeight]);
  useEffect(() => {
    const now = view.current?.state.doc.toString();
    if (now === undefined || now === value) return;
    const [from, to] = changedPart(now, value);
    view.current!.dispatch({ changes: { from, to, insert: value.slice(from, value.length - (now.length - to)) } });
    // Of another text altogether the marks are set again; else they have moved with their lines.
    if (to - from > now.length / 2 && latestMarks.current !== undefined) view.current!.dispatch({ effects: setMarks.of(latestMarks.current) });
  }, [value]);
  useEffect(() => {
    if (marks !== undefined) view.current?.dispatch({ effects: setMarks.of(marks) });
  }, [marks]);
  useEffect(() => {
    if (names !== undefined) view.current?.dispatch({ effects: setNames.of(names) });
  }, [names]);
  useEffect(() => view.current?.dispatch({}), [fault]); // its attributes are computed again
  useImperativeHandle(
    handle,
    () => ({
      goTo: (line) => {
        const shown = view.current;
        if (shown === null) return;
        const at = shown.state.doc.line(Math.min(Math.max(line, 1), shown.state.doc.lines)).from;
        shown.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
        shown.focus();
      },
      ...scrolls(view),
    }),
    [],
  );
  return <div ref={host} className="editor" />;
}
