export interface MessagePart {
  kind: "words" | "code" | "thinking";
  text: string;
}

/** Fenced code, what a model wrote between its tags, and an answer that is nothing but JSON. */
const SPECIAL = /```[^\n`]*\n([\s\S]*?)(?:\n```|$)|<thinking>([\s\S]*?)<\/thinking>|<response>\s*([[{][\s\S]*?)\s*<\/response>/g;

/** A message in its parts, in order; nothing of it is left out but the marks between them. */
export function partsOf(message: string): MessagePart[] {
  const parts: MessagePart[] = [];
  const words = (text: string): void => {
    const plain = text.replace(/<\/?response>/g, "").trim();
    if (plain !== "") parts.push({ kind: "words", text: plain });
  };
  let read = 0;
  for (const match of message.matchAll(SPECIAL)) {
    words(message.slice(read, match.index));
    const [whole, code, thinking, answer] = match;
    if (thinking !== undefined) parts.push({ kind: "thinking", text: thinking.trim() });
    else parts.push({ kind: "code", text: code ?? answer ?? "" });
    read = match.index + whole.length;
  }
  words(message.slice(read));
  return parts;
}
