import type { DocumentResult, Job } from "../api/types";

/** [from, to) of a message that holds data. */
export interface Sent {
  from: number;
  to: number;
  masked: boolean;
}

/** How the data within a call's messages is found: null where it is not known. */
export type Finder = (message: string) => Sent[];

/**
 * The record of a call has no places of what came from data. Views of tables have a form of their own, between marks that no cell can
 * hold; a document keeps the position of each value in its rendered message. What other kinds send has neither.
 */
export function finderOf(job: Job, role: string): Finder | null {
  if (role === "execution.transform") return cellsOf;
  if (role === "documents.instruction") return (message) => valuesOf((job.result as unknown as DocumentResult | null)?.blocks ?? [], message);
  return null;
}

const CELL = /"(?:[^"\\]|\\.)*"(?:\.\.\. \(\+[\d,]+ characters\))?|\(hidden\)|[^\s,[\]"]+/g;
const PARTS = /(?:"(?:[^"\\]|\\.)*"|[^;"])+/g;
const COUNTED = /("(?:[^"\\]|\\.)*"|[^\s,"]+)(?:\.\.\. \(\+[\d,]+ characters\))? x [\d,]+/g;
const RANGE = /^from ("(?:[^"\\]|\\.)*"|\S+) to ("(?:[^"\\]|\\.)*"|\S+)/;
const COLUMN = /^- "(?:[^"\\]|\\.)*": /;

/** The cells in views of tables: rows, listed values, the ends of a range; and where hidden ones would be. */
export function cellsOf(message: string): Sent[] {
  const found: Sent[] = [];
  let at = 0;
  let inside = false;
  let rows: "none" | "names" | "cells" = "none";
  for (const line of message.split("\n")) {
    const mark = line.trim();
    if (mark === "BEGIN DATA" || mark === "END DATA") {
      inside = mark === "BEGIN DATA";
      rows = "none";
    } else if (inside && (mark === "first rows:" || mark === "rows:")) rows = "names";
    else if (inside && rows !== "none" && line.startsWith("[")) {
      if (rows === "cells") found.push(...cellsOfRow(line, at));
      rows = "cells";
    } else {
      rows = "none";
      if (inside) found.push(...cellsOfColumn(line, at));
    }
    at += line.length + 1;
  }
  return found;
}

function cellsOfRow(line: string, at: number): Sent[] {
  return [...line.matchAll(CELL)].map((match) => span(at + match.index, match[0]));
}

function cellsOfColumn(line: string, at: number): Sent[] {
  const name = COLUMN.exec(line);
  if (name === null) return [];
  const begin = name[0].length;
  const hidden = line.indexOf("values hidden", begin);
  if (hidden !== -1 && line.endsWith("values hidden")) return [{ from: at + hidden, to: at + line.length, masked: true }];
  return [...line.slice(begin).matchAll(PARTS)].flatMap((part) => {
    const text = part[0].trimStart();
    const start = at + begin + part.index + part[0].length - text.length;
    const range = RANGE.exec(text);
    if (range !== null) return [span(start + 5, range[1]!), span(start + 5 + range[1]!.length + 4, range[2]!)];
    if (!/^(all values|most): /.test(text)) return [];
    const skipped = text.indexOf(": ") + 2;
    return [...text.slice(skipped).matchAll(COUNTED)].map((match) => span(start + skipped + match.index, match[1]!));
  });
}

function span(from: number, text: string): Sent {
  return { from, to: from + text.length, masked: text === "(hidden)" };
}

/** The values of a document where its rendered instructions are in the message. */
export function valuesOf(blocks: DocumentResult["blocks"], message: string): Sent[] {
  return blocks.flatMap(({ message_rendered: rendered, message_spans: spans }) => {
    const at = rendered ? message.indexOf(rendered) : -1;
    if (at === -1) return [];
    const characters = Array.from(rendered!); // the server counts characters, JavaScript counts some of them twice
    const place = (count: number): number => at + characters.slice(0, count).join("").length;
    return (spans ?? []).map((each) => ({ from: place(each[0] as number), to: place(each[1] as number), masked: false }));
  });
}

export interface Piece {
  text: string;
  sent: Sent | null;
}

/** The message in pieces, in order, those that came from data apart. */
export function piecesOf(message: string, sent: readonly Sent[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const each of [...sent].sort((one, other) => one.from - other.from)) {
    if (each.from < at) continue;
    if (each.from > at) pieces.push({ text: message.slice(at, each.from), sent: null });
    pieces.push({ text: message.slice(each.from, each.to), sent: each });
    at = each.to;
  }
  if (at < message.length) pieces.push({ text: message.slice(at), sent: null });
  return pieces;
}
