// The title of a single job, as the server makes those of lists (shared/jobs/record/titles.py); tests/shared/jobs/titles.json is for both.

const READ = 4000;
const LONGEST = 120;
const LINE = /^[^\n]*[\p{L}\p{N}][^\n]*$/mu;
const FRONT_MATTER = /^\s*---[ \t]*\r?\n([^]*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|$)/;
const FENCE = /(?:^|\n)[ \t]*(?:```|~~~)[^]*?\n[ \t]*(?:```|~~~)[^\n]*/g;
const PREAMBLE = /^(?:\s*#(?:!|[^\n]*coding[:=])[^\n]*\n)+/;
const COMMENT = /^\s*(?:#+|\/\/+|--+|\/\*+|%+|"""|''')[ \t]*\n?[ \t]*([^\n]*?[\p{L}\p{N}][^\n]*?)\s*(?:"""|'''|\*\/)?\s*$/mu;
const IMPORTED = /^[ \t]*(?:import|from|using|require|library|const [^\n]*require|use)\b[^\n;]*(?:;[ \t]*|$)/gm;

/** A document's title or heading, a task's first sentence, the comment at the beginning of code; null without any. */
export function titleOfInput(kind: string, input: Readonly<Record<string, unknown>>): string | null {
  const source = (input.source ?? {}) as Record<string, unknown>;
  const said = input.code ?? input.task ?? input.markdown ?? input.question ?? input.message ?? input.table ?? input.collection ?? source.git ?? source.path ?? source.name;
  if (typeof said !== "string") return null;
  const text = said.trim().slice(0, READ);
  const title = kind === "document" ? ofMarkdown(text) : kind === "execute" ? ofCode(text, typeof input.language === "string" ? input.language : "code") : ofText(text);
  const short = (title ?? "").replace(/\s+/g, " ").trim().slice(0, LONGEST);
  return short === "" ? null : short;
}

function ofText(text: string): string | null {
  const line = LINE.exec(text)?.[0].replace(/^[\s#>*-]+/, "");
  if (line === undefined) return null;
  const sentence = /^(.{16,}?[.!?])(?:\s|$)/.exec(line)?.[1] ?? line;
  return sentence.replace(/([^.])\.$/, "$1");
}

function ofMarkdown(text: string): string | null {
  const titled = /^title:[ \t]*(\S.*?)\s*$/m.exec(FRONT_MATTER.exec(text)?.[1] ?? "")?.[1]?.replace(/^["']+|["']+$/g, "");
  if (titled) return titled;
  const body = text.replace(FRONT_MATTER, "").replace(FENCE, "\n");
  return /^ {0,3}#{1,6}[ \t]+(\S.*?)[ \t#]*$/m.exec(body)?.[1] ?? ofText(body) ?? ofText(text.replace(/^[ \t]*(?:```|~~~)[^\n]*$/gm, ""));
}

function ofCode(text: string, language: string): string | null {
  if (text === "") return null;
  const code = text.replace(PREAMBLE, "");
  const comment = /^\s*(?:#|\/\/|--|\/\*|%|"""|''')/.test(code) ? COMMENT.exec(code) : null;
  if (comment?.index === 0) return comment[1]!;
  const line = LINE.exec(code.replace(IMPORTED, ""))?.[0].trim();
  const lines = text.split("\n").length;
  return lines > 1 ? `${language}: ${lines} lines${line === undefined ? "" : `, ${line}`}` : `${language}: ${line ?? text}`;
}
