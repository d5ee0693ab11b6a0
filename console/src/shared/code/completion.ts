import { Prec, StateEffect, StateField, type EditorState, type Extension, type TransactionSpec } from "@codemirror/state";
import { EditorView, keymap, showTooltip, type Command, type Tooltip } from "@codemirror/view";

// Not @codemirror/autocomplete: names after `{{` need a tenth of it, and the editor has a budget.

interface Offer {
  /** Where the part of the name begins that was typed. */
  from: number;
  names: readonly string[];
  chosen: number;
}

interface Completion {
  all: readonly string[];
  offer: Offer | null;
}

export const setNames = StateEffect.define<readonly string[]>();
const choose = StateEffect.define<number>();
const close = StateEffect.define<null>();

const MOST = 8;
const LISTBOX = "names-offered";

/** The part of a name before the caret, or null where no `{{` is open. */
export function typedName(before: string): string | null {
  return /\{\{\s*([\p{L}\p{N}_.]*)$/u.exec(before)?.[1] ?? null;
}

function offerAt(state: EditorState, all: readonly string[]): Offer | null {
  const { empty, head } = state.selection.main;
  const line = state.doc.lineAt(head);
  const typed = empty ? typedName(line.text.slice(0, head - line.from)) : null;
  if (typed === null) return null;
  const names = all.filter((name) => name.startsWith(typed)).slice(0, MOST);
  return names.length === 0 ? null : { from: head - typed.length, names, chosen: 0 };
}

const completion = StateField.define<Completion>({
  create: () => ({ all: [], offer: null }),
  update: (before, { effects, docChanged, selection, state }) => {
    let next = before;
    for (const effect of effects) {
      if (effect.is(setNames)) next = { ...next, all: effect.value };
      if (effect.is(close)) next = { ...next, offer: null };
      if (effect.is(choose) && next.offer !== null) next = { ...next, offer: { ...next.offer, chosen: effect.value } };
    }
    // An offer is made by typing; a caret that only moves ends it.
    if (docChanged) return { ...next, offer: offerAt(state, next.all) };
    return selection === undefined || next.offer === null ? next : { ...next, offer: null };
  },
  provide: (field) => showTooltip.from(field, ({ offer }) => (offer === null ? null : tooltip(offer))),
});

function tooltip(offer: Offer): Tooltip {
  return { pos: offer.from, above: false, create: (view) => ({ dom: listOf(view, offer) }) };
}

function listOf(view: EditorView, offer: Offer): HTMLElement {
  const list = document.createElement("ul");
  list.className = "cm-names";
  list.id = LISTBOX;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Names of the document");
  offer.names.forEach((name, index) => {
    const item = document.createElement("li");
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", String(index === offer.chosen));
    item.textContent = name;
    item.onmousedown = (event) => {
      event.preventDefault(); // the editor keeps the focus
      view.dispatch(inserted(view.state, offer, name));
    };
    list.append(item);
  });
  return list;
}

/** The name in the place of what was typed of it, with the braces that close it unless they are there. */
function inserted(state: EditorState, offer: Offer, name: string): TransactionSpec {
  const { head } = state.selection.main;
  const closed = /^\s*\}\}/.test(state.doc.lineAt(head).text.slice(head - state.doc.lineAt(head).from));
  const insert = closed ? name : `${name}}}`;
  return { changes: { from: offer.from, to: head, insert }, selection: { anchor: offer.from + insert.length }, userEvent: "input.complete" };
}

const move =
  (by: number): Command =>
  (view) => {
    const { offer } = view.state.field(completion);
    if (offer === null) return false;
    const chosen = (offer.chosen + by + offer.names.length) % offer.names.length;
    view.dispatch({ effects: [choose.of(chosen), EditorView.announce.of(offer.names[chosen]!)] });
    return true;
  };

const accept: Command = (view) => {
  const { offer } = view.state.field(completion);
  if (offer === null) return false;
  view.dispatch(inserted(view.state, offer, offer.names[offer.chosen]!));
  return true;
};

const leave: Command = (view) => {
  if (view.state.field(completion).offer === null) return false;
  view.dispatch({ effects: close.of(null) });
  return true;
};

/** Offers names after `{{`: arrows choose, Enter or Tab takes, Escape leaves. The names come by `setNames`. */
export function completesNames(): Extension {
  return [
    completion,
    Prec.highest(
      keymap.of([
        { key: "ArrowDown", run: move(1) },
        { key: "ArrowUp", run: move(-1) },
        { key: "Enter", run: accept },
        { key: "Tab", run: accept },
        { key: "Escape", run: leave },
      ]),
    ),
    EditorView.theme({
      ".cm-names": { listStyle: "none", margin: "0", padding: "2px", fontFamily: "var(--mono)", background: "var(--bg)", border: "1px solid var(--line)" },
      ".cm-names li": { padding: "2px 8px", minHeight: "24px", cursor: "pointer" },
      ".cm-names li[aria-selected=true]": { background: "var(--accent-soft)" },
    }),
  ];
}
