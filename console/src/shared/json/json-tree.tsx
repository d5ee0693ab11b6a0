import { Button, TextInput } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useMemo, useRef, useState } from "react";
import { visible } from "../code/ansi";
import { download } from "../files/download";
import { LARGEST, sizeOf, type Line } from "./json-lines";
import { usePart } from "./json-part";
import { bytes } from "../values/numbers";

const PART = 200;

/** A value as a tree that opens and closes, with a search; a large one shows its head and is downloaded whole. */
export default function JsonTree({ value, label }: { value: unknown; label: string }) {
  const size = useMemo(() => sizeOf(value, LARGEST), [value]);
  const isHead = size > LARGEST;
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [typed, setTyped] = useState("");
  const wanted = useDeferredValue(typed);
  const [from, setFrom] = useState(0);
  const ask = useMemo(() => ({ closed, wanted, from, count: 3 * PART }), [closed, wanted, from]);
  const part = usePart(value, size, ask);
  const toggle = (path: string): void => {
    const next = new Set(closed);
    if (!next.delete(path)) next.add(path);
    setClosed(next);
  };
  return (
    <div className="tight" aria-busy={part === null}>
      <div className="bar">
        {isHead ? (
          <span className="muted">Its first lines: it is too large to show.</span>
        ) : (
          <TextInput
            aria-label={`Search ${label}`}
            placeholder="Search"
            value={typed}
            onChange={(event) => {
              setTyped(event.currentTarget.value);
              setFrom(0);
            }}
          />
        )}
        <Button variant="default" onClick={() => download(JSON.stringify(value, null, 2) ?? "null", `${label}.json`)}>
          Download ({isHead ? "over " : "about "}
          {bytes(Math.min(size, LARGEST))})
        </Button>
      </div>
      {part === null ? null : <Lines label={label} part={part} onSeen={(first) => setFrom(Math.max(0, (Math.floor(first / PART) - 1) * PART))} toggle={toggle} />}
    </div>
  );
}

interface LinesProps {
  label: string;
  part: { from: number; lines: readonly Line[]; total: number };
  onSeen: (first: number) => void;
  toggle: (path: string) => void;
}

/** The lines in sight; those that have not come yet are empty for a moment. */
function Lines({ label, part, onSeen, toggle }: LinesProps) {
  const scroller = useRef<HTMLPreElement>(null);
  const virtual = useVirtualizer({
    count: part.total,
    getScrollElement: () => scroller.current,
    estimateSize: () => 18,
    overscan: 20,
    onChange: (now) => onSeen(now.range?.startIndex ?? 0),
  });
  return (
    <pre ref={scroller} className="code wrap" tabIndex={0} aria-label={label}>
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map(({ index, start }) => (
          <div key={index} ref={virtual.measureElement} data-index={index} className="json-line" style={{ transform: `translateY(${start}px)` }}>
            <Content line={part.lines[index - part.from]} toggle={toggle} />
          </div>
        ))}
      </div>
    </pre>
  );
}

function Content({ line, toggle }: { line: Line | undefined; toggle: (path: string) => void }) {
  if (line === undefined) return "…";
  return (
    <div style={{ paddingLeft: line.depth * 14 }}>
      {line.open === null ? (
        <span className="leaf" />
      ) : (
        <button type="button" className="link leaf" aria-expanded={line.open} aria-label={`${line.open ? "Close" : "Open"} ${line.text}`} onClick={() => toggle(line.path)}>
          {line.open ? "▾" : "▸"}
        </button>
      )}{" "}
      {visible(line.text)}
    </div>
  );
}
