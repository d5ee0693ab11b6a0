import type { Node, ReactFlowInstance } from "@xyflow/react";
import { useCallback, useEffect, useRef, type RefObject } from "react";

/** The part of the diagram in sight: what is in its middle, and how large. So it is the same in a window of another size. */
export interface Sight {
  x: number;
  y: number;
  zoom: number;
}

/** In flow coordinates, as an address has it: "120,-40,0.75". */
export function sightText({ x, y, zoom }: Sight): string {
  return [Math.round(x), Math.round(y), Number(zoom.toFixed(3))].join(",");
}

export function sightOf(text: string | undefined): Sight | null {
  const [x, y, zoom] = (text ?? "").split(",").map((part) => (part.trim() === "" ? NaN : Number(part)));
  return [x, y, zoom].every(Number.isFinite) && zoom! > 0 ? { x: x!, y: y!, zoom: zoom! } : null;
}

// More would make an address that mail programs cut; and a part of what was chosen is something else.
const MOST_NAMED = 50;

/** The nodes that are chosen, for the address; null when there are none, or too many. */
export function chosenText(ids: readonly string[]): string | null {
  return ids.length === 0 || ids.length > MOST_NAMED ? null : ids.map(encodeURIComponent).join(",");
}

export function chosenOf(text: string | undefined): string[] {
  return (text ?? "").split(",").filter(Boolean).flatMap(decoded);
}

function decoded(text: string): string[] {
  try {
    return [decodeURIComponent(text)];
  } catch {
    return [];
  }
}

const SETTLED_MS = 250;

/** Writes what is chosen and in sight into the address once it has settled: one entry of the history, however long one pans. */
export function useSettled(change: (changes: Record<string, string | null>) => void): (changes: Record<string, string | null>) => void {
  const waiting = useRef<Record<string, string | null>>({});
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(
    (changes) => {
      waiting.current = { ...waiting.current, ...changes };
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        change(waiting.current);
        waiting.current = {};
      }, SETTLED_MS);
    },
    [change],
  );
}

export function choosing(nodes: Node[], ids: readonly string[]): Node[] {
  return nodes.map((node) => (ids.includes(node.id) ? { ...node, selected: true } : node));
}

/** Shows what was in sight when the page was left, and tells what is in sight since somebody has moved it. */
export function useInSight(flow: RefObject<ReactFlowInstance | null>, start: Sight | null, onSight: (sight: Sight) => void) {
  const place = useRef<HTMLDivElement>(null);
  // Nobody asked for what is in sight at first: that depends on the window.
  const touched = useRef(false);
  const touching = (): void => void (touched.current = true);
  const begin = (instance: ReactFlowInstance): void => {
    flow.current = instance;
    if (start !== null) void instance.setCenter(start.x, start.y, { zoom: start.zoom });
  };
  const center = (x: number, y: number): void => {
    touching();
    void flow.current?.setCenter(x, y, { zoom: flow.current.getZoom() });
  };
  const tell = (): void => {
    if (!touched.current || flow.current === null || place.current === null) return;
    const { left, top, width, height } = place.current.getBoundingClientRect();
    onSight({ ...flow.current.screenToFlowPosition({ x: left + width / 2, y: top + height / 2 }), zoom: flow.current.getZoom() });
  };
  return { begin, center, tell, place, touch: { onPointerDownCapture: touching, onWheelCapture: touching, onKeyDownCapture: touching } };
}
