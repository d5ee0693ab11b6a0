import { Button, CopyButton } from "@mantine/core";
import { useMemo, useState } from "react";
import { visible } from "./ansi";
import { changes, pairsOf, type DiffLine } from "./diff";

const MAX_LINES = 2000;

/** Code or any text with line numbers; `marked` are lines (from 1) that something is said about. */
export function Code({ text, marked = [], first = 1 }: { text: string; marked?: readonly number[]; first?: number }) {
  const lines = useMemo(() => visible(text).split("\n"), [text]);
  return (
    <CodeFrame copy={text}>
      <pre className="code" tabIndex={0}>
        {lines.slice(0, MAX_LINES).map((line, index) => (
          <div key={index} className={`ln ${marked.includes(index + first) ? "mark" : ""}`}>
            <span>{index + first}</span>
            <span>{marked.includes(index + first) ? "!" : ""}</span>
            <span>{line}</span>
          </div>
        ))}
        {lines.length > MAX_LINES ? <div className="ln muted">… {lines.length - MAX_LINES} more lines</div> : null}
      </pre>
    </CodeFrame>
  );
}

/** What changed from one text to the next, line by line, with signs that need no colour. */
export function Diff({ before, after, marked = [], same = "No changes." }: { before: string; after: string; marked?: readonly number[]; same?: string }) {
  const lines = useMemo(() => changes(before, after), [before, after]);
  const [all, setAll] = useState(false);
  const changed = lines.filter(({ sign }) => sign !== " ").length;
  if (changed === 0) return <p className="muted">{same}</p>;
  const shown = all ? lines : lines.filter((line, index) => line.sign !== " " || near(lines, index));
  return (
    <CodeFrame copy={after}>
      <pre className="code" tabIndex={0} aria-label="Differences">
        {shown.map((line, index) => (
          <div key={index} className={`ln ${line.sign === "+" ? "add" : line.sign === "-" ? "del" : ""} ${line.sign !== "+" && line.before !== null && marked.includes(line.before) ? "mark" : ""}`}>
            <span>{line.after ?? line.before}</span>
            <span>{line.sign}</span>
            <span>{visible(line.text)}</span>
          </div>
        ))}
      </pre>
      {shown.length < lines.length ? (
        <button type="button" className="link" onClick={() => setAll(true)}>
          Show {lines.length - shown.length} unchanged {lines.length - shown.length === 1 ? "line" : "lines"}
        </button>
      ) : null}
    </CodeFrame>
  );
}

/** Two texts side by side, the lines that both have at the same height; in one column where two do not fit. */
export function SplitDiff({ before, after, names }: { before: string; after: string; names: readonly [string, string] }) {
  const lines = useMemo(() => changes(before, after), [before, after]);
  const wide = window.matchMedia("(min-width: 1024px)").matches;
  if (!wide) return <Diff before={before} after={after} />;
  const pairs = pairsOf(lines.filter((line, index) => line.sign !== " " || near(lines, index)));
  return (
    <div className="split" role="group" aria-label="Differences">
      {names.map((name, side) => (
        <div key={name} className="tight">
          <span className="small muted">{name}</span>
          <pre className="code" tabIndex={0} aria-label={`Lines of ${name}`}>
            {pairs.map((pair, index) => (
              <SplitLine key={index} line={pair[side]!} side={side} />
            ))}
          </pre>
        </div>
      ))}
    </div>
  );
}

function SplitLine({ line, side }: { line: DiffLine | null; side: number }) {
  if (line === null) return <div className="ln void"> </div>;
  return (
    <div className={`ln ${line.sign === "+" ? "add" : line.sign === "-" ? "del" : ""}`}>
      <span>{side === 0 ? line.before : line.after}</span>
      <span>{line.sign}</span>
      <span>{visible(line.text)}</span>
    </div>
  );
}

function near(lines: readonly { sign: string }[], index: number): boolean {
  return lines.slice(Math.max(0, index - 3), index + 4).some((line) => line.sign !== " ");
}

function CodeFrame({ copy, children }: { copy: string; children: React.ReactNode }) {
  return (
    <div className="tight code-frame">
      {children}
      <CopyButton value={copy}>
        {({ copied, copy: doCopy }) => (
          <span className="copy">
            <Button variant="subtle" size="compact-xs" onClick={doCopy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          </span>
        )}
      </CopyButton>
    </div>
  );
}
