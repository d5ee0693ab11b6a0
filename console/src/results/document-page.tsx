import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { blobOf } from "../api/client";
import type { DocumentResult } from "../api/types";
import { SafeHtml } from "../shared/files/safe-html";
import { Loaded } from "../shared/page/loading-states";
import { together, type Scrolls } from "../shared/code/scroll-sync";
import { markValues, scrollsPage, type Span } from "./value-spans";
import { useHoveredValue } from "./value-hover";
import { factsOf, inWords } from "./value-facts";
import { ValuePanel } from "./value-panel";

interface Props {
  result: DocumentResult;
  /** What was run: its lines are those of the blocks. */
  source?: string;
  /** The editor that scrolls with the page. */
  beside?: Scrolls | null;
  onBlock: (id: string) => void;
}

/** The document as a page: values of its code are underlined, show where they come from, and lead there by a click. */
export function PageOfDocument(props: Props) {
  const id = props.result.html_file_id!;
  const query = useQuery({ queryKey: ["html", id], queryFn: async () => (await blobOf(id)).text(), staleTime: Infinity });
  return <Loaded query={query}>{(html) => <MarkedPage html={html} {...props} />}</Loaded>;
}

function MarkedPage({ html, result, source = "", beside, onBlock }: Props & { html: string }) {
  const blocks = useMemo(() => new Map(result.blocks.map((block) => [block.id, block])), [result]);
  const latest = useRef(onBlock);
  latest.current = onBlock;
  const [page, setPage] = useState<Document | null>(null);
  const [marked, setMarked] = useState<readonly { line: number; element: HTMLElement }[]>([]);
  const { shown, keep, leave, hide, tells } = useHoveredValue(page);
  useEffect(() => {
    const main = page?.querySelector("main");
    if (main === null || main === undefined) return;
    const found: { line: number; element: HTMLElement }[] = [];
    markValues(main, (result.page_spans ?? []) as unknown as Span[], blocks, (elements, block, text) => {
      const facts = factsOf(block, text, result.blocks, source);
      for (const element of elements) tells(element, facts, (id) => latest.current(id));
      reached(elements[0]!, inWords(facts));
      found.push({ line: block.lines[0], element: elements[0]! });
    });
    setMarked(found);
    markFailures(main, result.blocks);
  }, [page, result, blocks, source, tells]);
  useEffect(() => (page && beside ? together(beside, scrollsPage(page, source, marked)) : undefined), [page, beside, source, marked]);
  const go = (id: string): void => {
    hide();
    onBlock(id);
  };
  return (
    <div className="over">
      <SafeHtml html={html} title="The document as a page" height={520} onPage={setPage} />
      {shown === null || shown.place === null ? null : <ValuePanel facts={shown.facts} place={shown.place} onBlock={go} onEnter={keep} onLeave={leave} />}
    </div>
  );
}

/** A block's error is in the page like any other paragraph: it is marked. */
function markFailures(main: Element, blocks: DocumentResult["blocks"]): void {
  const texts = new Set(blocks.flatMap((block) => (block.messages ?? []).filter(({ level }) => level === "error").map(({ text }) => text.trim())));
  for (const paragraph of main.querySelectorAll("p, pre")) if (texts.has(paragraph.textContent.trim())) paragraph.classList.add("failed");
}

/** Lets the keyboard reach a value; one in several pieces at its first. */
function reached(element: HTMLElement, words: string): void {
  element.tabIndex = 0;
  element.role = "button";
  // Not a title: it would hide the panel, and the keyboard shows none.
  element.setAttribute("aria-description", words);
}
