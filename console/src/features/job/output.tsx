import type { JobEvent } from "../../api/types";
import { Ansi } from "../../shared/ansi";

/** What the program has printed so far. */
export function Output({ events }: { events: readonly JobEvent[] }) {
  const text = events.filter((event) => event.type === "output").map((event) => String(event.text ?? ""));
  return (
    <pre className="code wrap" tabIndex={0}>
      <Ansi text={text.join("")} />
    </pre>
  );
}
