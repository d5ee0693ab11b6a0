import { post } from "../../api/client";
import type { FlowView } from "../../api/types";

/** A diagram as it is sent to be imported. */
export interface Source {
  format: "mermaid" | "json";
  text: string;
  /** The number of further diagrams in the text. */
  left: number;
}

const FENCE = /^\s*(`{3,}|~{3,})\s*(\S*)/;

/** Mermaid or JSON unchanged; of Markdown the first Mermaid diagram, in the lines where it was: warnings name the line of the file. */
export function sourceOf(text: string): Source {
  if (/^\s*[{[]/.test(text)) return { format: "json", text, left: 0 };
  const blocks = mermaidBlocks(text.split(/\r?\n/));
  const [first] = blocks;
  return { format: "mermaid", text: first === undefined ? text : first.join("\n"), left: Math.max(0, blocks.length - 1) };
}

/** Each Mermaid block of Markdown, with empty lines before it. */
function mermaidBlocks(lines: readonly string[]): string[][] {
  const blocks: string[][] = [];
  let open: { mark: string; block: string[] | null } | null = null;
  for (const [number, line] of lines.entries()) {
    const [, mark, language] = FENCE.exec(line) ?? [];
    if (open === null) {
      if (mark !== undefined) open = { mark, block: language === "mermaid" ? Array<string>(number + 1).fill("") : null };
    } else if (mark?.startsWith(open.mark) && language === "") {
      if (open.block !== null) blocks.push(open.block);
      open = null;
    } else open.block?.push(line);
  }
  if (open?.block) blocks.push(open.block);
  return blocks;
}

/** Raises: Problem. */
export async function importFlow(text: string, name: string): Promise<{ flow: FlowView; left: number }> {
  const { left, ...source } = sourceOf(text);
  return { flow: await post<FlowView>("/v1/flows/import", { ...source, ...(name === "" ? {} : { name }) }), left };
}

const ENDINGS = /\.(mmd|mermaid|md|markdown|json|excalidraw|canvas|txt)$/i;
const MAX_BYTES = 16_000_000;

/** Why a file cannot be a diagram, without looking into it. */
export function refusal({ name, size }: { name: string; size: number }): string | null {
  if (!ENDINGS.test(name)) return "Only Mermaid (.mmd, .mermaid, or in a .md) and JSON (.json, .excalidraw, .canvas) can be imported.";
  return size > MAX_BYTES ? "It is larger than 16 MB, the most that can be imported." : null;
}

/** What the flow of a file is called; JSON brings a name of its own. */
export function nameFor(file: string): string {
  return /\.json$/i.test(file) ? "" : file.replace(ENDINGS, "").slice(0, 200);
}

export function lineOf(text: string, line: number): string {
  return text.split("\n")[line - 1]?.trim() ?? "";
}
