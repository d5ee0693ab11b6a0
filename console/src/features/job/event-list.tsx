import { Button, Select } from "@mantine/core";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import type { JobEvent } from "../../api/types";
import { visible } from "../../shared/code/ansi";
import { Code } from "../../shared/code/code";
import { download } from "../../shared/files/download";
import { useUrl } from "../../shared/page/url";
import { took } from "../../shared/values/time";
import { NumberInput } from "../../shared/editing/number-input";

const ENVELOPE = new Set(["type", "job_id", "seq", "at"]);

/** The raw history: plain rows, of which only those in sight exist; one opens below the list. */
export function EventList({ events }: { events: readonly JobEvent[] }) {
  const [url, change] = useUrl();
  const types = useMemo(() => [...new Set(events.map((event) => event.type))].sort(), [events]);
  const shown = url.type === undefined ? events : events.filter((event) => event.type === url.type);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: shown.length, getScrollElement: () => scroller.current, estimateSize: () => 28, overscan: 8 });
  const began = events[0] === undefined ? 0 : Date.parse(events[0].at);
  const open = shown.find((event) => String(event.seq) === url.event);
  return (
    <div className="stack">
      <div className="bar">
        <Select aria-label="Type" placeholder="Every type" data={types} value={url.type ?? null} clearable onChange={(type) => change({ type })} w={160} />
        <NumberInput aria-label="Go to the second" placeholder="go to second" min={0} disabled={shown.length === 0} onChange={(second) => second !== "" && virtual.scrollToIndex(atSecond(shown, began + Number(second) * 1000), { align: "start" })} w={110} />
        <Button variant="default" onClick={() => download(shown.map((event) => JSON.stringify(event)).join("\n"), "events.ndjson")}>
          NDJSON
        </Button>
      </div>
      <div
        ref={scroller}
        className="rows"
        role="list"
        aria-label="Events"
        tabIndex={0}
        style={{ height: Math.min(420, shown.length * 28 + 4) }}
        onClick={(event) => {
          const seq = (event.target as HTMLElement).closest<HTMLElement>("[data-seq]")?.dataset.seq;
          if (seq !== undefined) change({ event: seq === url.event ? null : seq });
        }}
      >
        <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
          {virtual.getVirtualItems().map((place) => {
            const event = shown[place.index]!;
            return (
              <div key={event.seq} role="listitem" className="row mono event" data-seq={event.seq} data-chosen={String(event.seq) === url.event} style={{ transform: `translateY(${place.start}px)` }}>
                <span className="num muted">{event.seq}</span>
                <span className="num muted">+{took((Date.parse(event.at) - began) / 1000)}</span>
                <span>{event.type}</span>
                <span className="muted">{visible(brief(event))}</span>
              </div>
            );
          })}
        </div>
      </div>
      {open === undefined ? null : (
        <section aria-label={`Event ${open.seq}`}>
          <Code text={JSON.stringify(open, null, 2)} />
        </section>
      )}
    </div>
  );
}

/** The place of the first event from that moment on, or of the last. */
function atSecond(events: readonly JobEvent[], moment: number): number {
  const place = events.findIndex((event) => Date.parse(event.at) >= moment);
  return place === -1 ? events.length - 1 : place;
}

function brief(event: JobEvent): string {
  const own = Object.fromEntries(Object.entries(event).filter(([name]) => !ENVELOPE.has(name)));
  return JSON.stringify(own).slice(0, 300);
}
