import { useCallback, useEffect, useRef } from "react";
import type { Rect, Size } from "../../../shared/flows/elements";

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
const MAX_NAMED = 50;

/** The nodes that are chosen, for the address; null when there are none, or too many. */
export function chosenText(ids: readonly string[]): string | null {
  return ids.length === 0 || ids.length > MAX_NAMED ? null : ids.map(encodeURIComponent).join(",");
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

export function choosing<T extends { id: string }>(nodes: T[], ids: readonly string[]): T[] {
  if (ids.length === 0) return nodes;
  return nodes.map((node) => (ids.includes(node.id) ? { ...node, selected: true } : node));
}

/** What floats over the canvas has this much of it, so that nothing that is fitted is under it; on a phone there are no tools on the left. */
const KEPT = { top: 60, right: 24, bottom: 20, left: typeof window !== "undefined" && window.innerWidth < 768 ? 24 : 64 };
const LARGEST = 1; // what is fitted is not larger than it is
/** Below this zoom a large diagram is one picture. */
export const FAR = 0.4;
export const SMALLEST = 0.01;
export const LARGEST_ZOOM = 4;

export interface View {
  x: number;
  y: number;
  zoom: number;
}

/** The view of a canvas of that size that shows a part whole. */
export function viewOf(part: Rect, { width, height }: Size): View {
  const [w, h] = [Math.max(width - KEPT.left - KEPT.right, 40), Math.max(height - KEPT.top - KEPT.bottom, 40)];
  const zoom = Math.max(SMALLEST, Math.min(LARGEST, w / Math.max(part.width, 1), h / Math.max(part.height, 1)));
  return { x: KEPT.left + w / 2 - (part.x + part.width / 2) * zoom, y: KEPT.top + h / 2 - (part.y + part.height / 2) * zoom, zoom };
}

/** The view with that in its middle. */
export function viewAt({ x, y, zoom }: Sight, { width, height }: Size): View {
  return { x: width / 2 - x * zoom, y: height / 2 - y * zoom, zoom };
}

export function sightIn({ x, y, zoom }: View, { width, height }: Size): Sight {
  return { x: (width / 2 - x) / zoom, y: (height / 2 - y) / zoom, zoom };
}

/** Whether all of a part is in view, where nothing floats over it. */
export function isShown(part: Rect, { x, y, zoom }: View, { width, height }: Size): boolean {
  return part.x * zoom + x >= KEPT.left - 1 && part.y * zoom + y >= KEPT.top - 1 && (part.x + part.width) * zoom + x <= width - KEPT.right + 1 && (part.y + part.height) * zoom + y <= height - KEPT.bottom + 1;
}
