import type { DocumentResult } from "../api/types";
import { between, rising, type Pair, type Scrolls } from "../shared/code/scroll-sync";

/** [from, to) in characters of a text, and the block whose value it is. */
export type Span = readonly [from: number, to: number, block: string];
type Block = DocumentResult["blocks"][number];

interface Piece {
  node: Text;
  from: number;
  to: number;
}

/**
 * Puts each value of the page into elements of class `value`, and calls `mark` with those of each and its text.
 *
 * The page has been cleaned since its places were computed: one whose text is not an output of its block is left as it is.
 */
export function markValues(main: Element, spans: readonly Span[], blocks: ReadonlyMap<string, Block>, mark: (elements: readonly HTMLElement[], block: Block, text: string) => void): void {
  const texts = textsOf(main);
  const found = spans.flatMap(([from, to, id]) => {
    const block = blocks.get(id);
    const pieces = piecesOf(texts, from, to);
    const text = pieces.map(({ node, from, to }) => node.data.slice(from, to)).join("");
    return block !== undefined && isOutput(block, text) ? [{ block, pieces, text }] : [];
  });
  // From the last to the first: what is cut off behind moves nothing before it.
  for (const { block, pieces, text } of found.reverse()) mark([...pieces].reverse().map(wrapped).reverse(), block, text);
}

function isOutput(block: Block, text: string): boolean {
  return (block.outputs ?? []).some((output) => output.text?.trimEnd() === text.trimEnd()) && text.trim() !== "";
}

/** Each text of the page with the place of its first character; JavaScript counts some characters twice, the server none. */
function textsOf(main: Element): { node: Text; at: number; characters: string[] }[] {
  const walker = main.ownerDocument.createTreeWalker(main, 4 /* NodeFilter.SHOW_TEXT */);
  const texts = [];
  let at = 0;
  while (walker.nextNode() !== null) {
    const node = walker.currentNode as Text;
    const characters = Array.from(node.data);
    texts.push({ node, at, characters });
    at += characters.length;
  }
  return texts;
}

function piecesOf(texts: ReturnType<typeof textsOf>, from: number, to: number): Piece[] {
  return texts.flatMap(({ node, at, characters }) => {
    const [first, last] = [Math.max(from - at, 0), Math.min(to - at, characters.length)];
    const units = (count: number): number => characters.slice(0, count).join("").length;
    return first < last ? [{ node, from: units(first), to: units(last) }] : [];
  });
}

function wrapped({ node, from, to }: Piece): HTMLElement {
  node.splitText(to);
  const value = node.splitText(from);
  const element = node.ownerDocument.createElement("span");
  element.className = "value";
  value.replaceWith(element);
  element.append(value);
  return element;
}

/** The code of an inline expression as its line has it: of several on one line each in its turn. */
export function codeOf(block: Block, blocks: readonly Block[], markdown: string): string | null {
  if (block.kind !== "expression") return null;
  const line = markdown.split("\n")[block.lines[0] - 1] ?? "";
  const found = [...line.matchAll(/`(?:\{\w+\}\s+)?([^`]+)`(?:\{[^}]*\})?/g)].filter((match) => match[0].includes("{")).map((match) => match[1]!.trim());
  const there = blocks.filter((each) => each.kind === "expression" && each.lines[0] === block.lines[0]);
  return found.length === there.length ? (found[there.indexOf(block)] ?? null) : null;
}

const TITLES = /^#{1,6}\s/;

/** The frame of a page as something that scrolls: its headings and values show where each line is. */
export function scrollsPage(page: Document, markdown: string, marked: readonly { line: number; element: HTMLElement }[]): Scrolls {
  const scroller = page.scrollingElement ?? page.documentElement;
  const y = (element: Element): number => element.getBoundingClientRect().top + scroller.scrollTop;
  const pairs = (): readonly Pair[] => {
    const lines = markdown.split("\n");
    const written = lines.flatMap((line, index) => (TITLES.test(line) ? [index + 1] : []));
    const headings = [...page.querySelectorAll("main h1, main h2, main h3, main h4, main h5, main h6")];
    const titles = headings.length === written.length ? headings.map((heading, index): Pair => [written[index]!, y(heading)]) : [];
    const values = marked.map(({ line, element }): Pair => [line, y(element)]);
    return rising([[1, 0], ...titles, ...values, [lines.length + 1, scroller.scrollHeight]]);
  };
  return {
    top: () => between(pairs(), scroller.scrollTop, 1),
    setTop: (line) => {
      scroller.scrollTop = between(pairs(), line, 0);
    },
    onScroll: (scrolled) => {
      page.addEventListener("scroll", scrolled, { passive: true });
      return () => page.removeEventListener("scroll", scrolled);
    },
  };
}
