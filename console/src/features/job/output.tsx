import { useLayoutEffect, useRef } from "react";
import type { JobEvent } from "../../api/types";
import { Printed } from "../../shared/code/program-output";

/** What the program has printed so far; while it runs the last line stays in sight, unless one has scrolled away from it. */
export function Output({ events, ended }: { events: readonly JobEvent[]; ended: boolean }) {
  const text = events.filter((event) => event.type === "output").map((event) => String(event.text ?? "")).join("");
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(!ended);
  useLayoutEffect(() => {
    if (follows.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  const look = ({ currentTarget: { scrollHeight, scrollTop, clientHeight } }: React.UIEvent<HTMLPreElement>): void => {
    follows.current = scrollHeight - scrollTop - clientHeight < 24;
  };
  return <Printed text={text} name="output" box={box} onScroll={look} />;
}
