import { Button, TextInput } from "@mantine/core";
import { useMemo, useState } from "react";
import { visible } from "./ansi";
import { bytes } from "./numbers";

const HEAD = 2_000_000;

interface Line {
  path: string;
  depth: number;
  text: string;
  open: boolean | null;
}

/** A value as a tree that opens and closes, with a search; a large one shows its head and is downloaded whole. */
export function JsonTree({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? "null", [value]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [wanted, setWanted] = useState("");
  const lines = useMemo(() => (text.length > HEAD ? [] : linesOf(value, closed)), [value, closed, text.length]);
  const shown = wanted === "" ? lines : lines.filter((line) => line.text.toLowerCase().includes(wanted.toLowerCase()));
  const toggle = (path: string): void => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  return (
    <div className="tight">
      <div className="bar">
        <TextInput aria-label={`Search ${label}`} placeholder="Search" value={wanted} onChange={(event) => setWanted(event.currentTarget.value)} />
        <Button variant="default" onClick={() => download(text, `${label}.json`)}>
          Download ({bytes(text.length)})
        </Button>
      </div>
      {text.length > HEAD ? (
        <pre className="code wrap">{visible(text.slice(0, 20_000))}…</pre>
      ) : (
        <pre className="code wrap" tabIndex={0} aria-label={label}>
          {shown.slice(0, 2000).map((line) => (
            <div key={line.path + line.text} style={{ paddingLeft: line.depth * 14 }}>
              {line.open === null ? (
                <span className="leaf" />
              ) : (
                <button type="button" className="link leaf" aria-expanded={line.open} onClick={() => toggle(line.path)}>
                  {line.open ? "▾" : "▸"}
                </button>
              )}{" "}
              {visible(line.text)}
            </div>
          ))}
          {shown.length > 2000 ? <div className="muted">… {shown.length - 2000} more lines; search, or download it</div> : null}
        </pre>
      )}
    </div>
  );
}

/** The lines of a value; iterative, as a value may be deep. */
function linesOf(root: unknown, closed: ReadonlySet<string>): Line[] {
  const lines: Line[] = [];
  const pending: { name: string; path: string; depth: number; value: unknown }[] = [{ name: "", path: "$", depth: 0, value: root }];
  while (pending.length > 0) {
    const { name, path, depth, value } = pending.pop()!;
    const label = name === "" ? "" : `${name}: `;
    if (value === null || typeof value !== "object") {
      lines.push({ path, depth, text: `${label}${JSON.stringify(value)}`, open: null });
      continue;
    }
    const entries = Object.entries(value);
    const size = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
    const open = !closed.has(path);
    lines.push({ path, depth, text: `${label}${size}`, open: entries.length === 0 ? null : open });
    if (open) for (const [key, inner] of entries.reverse()) pending.push({ name: key, path: `${path}.${key}`, depth: depth + 1, value: inner });
  }
  return lines;
}

export function download(content: string | Blob, name: string): void {
  const url = URL.createObjectURL(typeof content === "string" ? new Blob([content]) : content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
