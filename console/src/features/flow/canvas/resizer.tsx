import { useReactFlow } from "@xyflow/react";
import { useRef, type PointerEvent } from "react";
import type { Rect } from "../../../shared/flows/elements";
import type { DrawnNode } from "./merged-graph";

const CORNERS = [["nw", -1, -1], ["ne", 1, -1], ["se", 1, 1], ["sw", -1, 1]] as const;
const STEP = 4; // pixels that a size snaps to
// The limits of a node.
const [NARROWEST, WIDEST, LOWEST, HIGHEST] = [60, 600, 24, 320];

/** The corners of a node that is chosen: dragged, they make it larger or smaller. */
export function Resizer({ id, width, height, onResized }: { id: string; width: number; height: number; onResized: (box: Rect) => void }) {
  const { getNode, getZoom, updateNode } = useReactFlow<DrawnNode>();
  const held = useRef<{ x: number; y: number; box: Rect; last: Rect } | null>(null);
  const grab = (event: PointerEvent): void => {
    const node = getNode(id);
    if (node === undefined || event.button !== 0) return;
    event.stopPropagation();
    event.currentTarget.setPointerCapture(event.pointerId);
    const box = { ...node.position, width, height };
    held.current = { x: event.clientX, y: event.clientY, box, last: box };
  };
  const move = (event: PointerEvent, sx: number, sy: number): void => {
    if (held.current === null) return;
    const { box, x, y } = held.current;
    const zoom = getZoom();
    const size = { width: within(box.width + (sx * (event.clientX - x)) / zoom, NARROWEST, WIDEST), height: within(box.height + (sy * (event.clientY - y)) / zoom, LOWEST, HIGHEST) };
    const next = { x: sx < 0 ? box.x + box.width - size.width : box.x, y: sy < 0 ? box.y + box.height - size.height : box.y, ...size };
    held.current.last = next;
    updateNode(id, { position: { x: next.x, y: next.y }, width: next.width, height: next.height, measured: size });
  };
  const release = (): void => {
    const { box, last } = held.current ?? {};
    held.current = null;
    if (box !== undefined && last !== undefined && (box.width !== last.width || box.height !== last.height)) onResized(last);
  };
  return CORNERS.map(([name, sx, sy]) => (
    <span key={name} className={`corner ${name} nodrag`} onPointerDown={grab} onPointerMove={(event) => move(event, sx, sy)} onPointerUp={release} onPointerCancel={release} />
  ));
}

function within(value: number, least: number, most: number): number {
  return Math.min(Math.max(Math.round(value / STEP) * STEP, least), most);
}
