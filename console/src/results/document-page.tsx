import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { blobOf } from "../api/client";
import type { DocumentResult } from "../api/types";
import { visible } from "../shared/ansi";
import { SafeHtml } from "../shared/html";
import { Loaded } from "../shared/states";
import { together, type Scrolls } from "../shared/together";
import { codeOf, markValues, scrollsPage, type Span } from "./places";

type Block = DocumentResult["blocks"][number];

interface Props {
  result: DocumentResult;
  /** What was run: its lines are those of the blocks. */
  source?: string;
  /** The editor that scrolls with the page. */
  beside?: Scrolls | null;
  onBlock: (id: string) => void;
}

/** The document as a page: values of its code are underlined, tell where they come from, and lead there by a click. */
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
  useEffect(() => {
    const main = page?.querySelector("main");
    if (main === null || main === undefined) return;
    const found: { line: number; element: HTMLElement }[] = [];
    markValues(main, (result.page_spans ?? []) as unknown as Span[], blocks, (element, block) => {
      element.title = told(block, codeOf(block, result.blocks, source));
      element.addEventListener("click", () => latest.current(block.id));
      found.push({ line: block.lines[0], element });
    });
    setMarked(found);
  }, [page, result, blocks, source]);
  useEffect(() => (page && beside ? together(beside, scrollsPage(page, source, marked)) : undefined), [page, beside, source, marked]);
  return <SafeHtml html={html} title="The document as a page" height={520} onPage={setPage} />;
}

function told(block: Block, code: string | null): string {
  const [from, to] = block.lines;
  const parts = [code, block.language ?? block.kind, `made at line ${from}${from === to ? "" : ` to ${to}`}`, block.digest ? `digest ${block.digest.slice(0, 12)}` : null];
  return visible(parts.filter((part) => part !== null).join(" · "));
}
