const COLOURS: Readonly<Record<number, string>> = { 31: "bad", 32: "good", 33: "warn", 34: "accent", 91: "bad", 92: "good", 93: "warn", 94: "accent" };

export interface Span {
  text: string;
  tone: string;
  bold: boolean;
}

/** Text with its colours; every other control sequence is dropped, and right-to-left overrides are shown as marks. */
export function spans(text: string): Span[] {
  const result: Span[] = [];
  let tone = "";
  let bold = false;
  // eslint-disable-next-line no-control-regex
  // The sandbox writes control characters as \xNN, so that no terminal obeys them; colours are meant all the same.
  const meant = text.replaceAll("\\x1b", "\u001b").replaceAll("\\x07", "\u0007");
  for (const part of meant.split(/(\u001b\[[0-9;]*[A-Za-z]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b.)/)) {
    const codes = /^\u001b\[([0-9;]*)m$/.exec(part);
    if (codes !== null) {
      for (const code of codes[1]!.split(";").map(Number)) {
        if (code === 0) [tone, bold] = ["", false];
        else if (code === 1) bold = true;
        else if (code === 39) tone = "";
        else tone = COLOURS[code] ?? tone;
      }
    } else if (part !== "" && !part.startsWith("\u001b")) {
      result.push({ text: visible(part), tone, bold });
    }
  }
  return result;
}

/** Characters that reorder or hide text become visible marks, so that what is read is what is there. */
export function visible(text: string): string {
  return text
    .replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/g, (sign) => `⟦U+${sign.charCodeAt(0).toString(16).toUpperCase()}⟧`)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g, "\ufffd");
}

export function Ansi({ text }: { text: string }) {
  return (
    <>
      {spans(text).map((span, index) => (
        <span key={index} className={`${span.tone} ${span.bold ? "bold" : ""}`}>
          {span.text}
        </span>
      ))}
    </>
  );
}
