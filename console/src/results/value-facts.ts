import type { DocumentResult } from "../api/types";
import { visible } from "../shared/code/ansi";
import { bytes } from "../shared/values/numbers";
import { codeOf } from "./value-spans";

type Block = DocumentResult["blocks"][number];

/** Facts about a value in the page of a document. */
export interface ValueFacts {
  /** The code of an inline value, or the id of the chunk that put it out. */
  name: string;
  /** Kernel, type, size and hash, in words. */
  facts: readonly (readonly [label: string, text: string])[];
  /** Only a part of it is in the page. */
  cut: boolean;
  /** The block in whose place it is. */
  block: Block;
  /** The block that made it: to which it leads. */
  maker: Block;
}

/** Facts about a value whose text is in the page. Printed text has no type, and earlier versions reported none. */
export function factsOf(block: Block, text: string, blocks: readonly Block[], markdown: string): ValueFacts {
  const shown = block.outputs?.at(-1)?.text;
  const value = shown?.trimEnd() === text.trimEnd() ? block.value : null;
  const maker = blocks.find(({ id }) => id === value?.block) ?? block;
  const code = block.kind === "expression" ? (value?.name ?? codeOf(block, blocks, markdown)) : null;
  const facts: [string, string][] = [["Kernel", value?.kernel ?? block.language ?? block.kind]];
  if (value) facts.push(["Type", value.type], ["Size", bytes(value.bytes)], ["SHA-256", value.sha256.slice(0, 12)]);
  else if (block.digest) facts.push(["Digest", block.digest.slice(0, 12)]);
  return { name: visible(code ?? block.id), facts: facts.map(([label, said]) => [label, visible(said)]), cut: value?.truncated ?? false, block, maker };
}

/** "chunk-1, lines 3 to 7" */
export function placeOf({ id, lines: [from, to] }: Block): string {
  return `${visible(id)}, ${from === to ? `line ${from}` : `lines ${from} to ${to}`}`;
}

/** The same in one sentence: what a screen reader says of it. */
export function inWords({ name, facts, cut, maker }: ValueFacts): string {
  const said = facts.map(([label, text]) => (label === "Kernel" || label === "Type" ? text : `${label} ${text}`));
  return [name, ...said, ...(cut ? ["cut"] : []), `made by ${placeOf(maker)}`].join(" · ");
}
