import { useStore } from "@xyflow/react";
import { useEffect, useRef } from "react";
import { visible } from "../../../shared/code/ansi";
import type { Rect } from "../../../shared/flows/elements";
import type { DrawnEdge, DrawnNode } from "./merged-graph";
import { boxesOf, rectOf } from "./routes";

const LEAST = 1.5; // pixels of a node that is very small
const OUTLINED = 12; // pixels from which on a box has an outline
const FONT = 9; // pixels
const NAMED = 36; // pixels from which on a box has its name on it
const LETTER = 0.55; // about the width of one, of its height
const MARKS = { "": "--node", added: "--good", changed: "--warn", removed: "--bad" } as const;

/** A large diagram from far away: one picture of all of it. */
export default function Overview({ nodes, edges }: { nodes: readonly DrawnNode[]; edges: readonly DrawnEdge[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [x, y, zoom] = useStore((state) => state.transform);
  const [width, height] = [useStore((state) => state.width), useStore((state) => state.height)];
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context || width === 0) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    [canvas.current!.width, canvas.current!.height] = [width * ratio, height * ratio];
    const style = getComputedStyle(canvas.current!);
    const color = (name: string): string => style.getPropertyValue(name);
    context.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * x, ratio * y);
    const boxes = boxesOf(nodes);
    const ink = color("--text");
    const isInSight = (box: Rect): boolean => (box.x + box.width) * zoom + x > 0 && box.x * zoom + x < width && (box.y + box.height) * zoom + y > 0 && box.y * zoom + y < height;
    context.strokeStyle = color("--link");
    context.lineWidth = Math.max(1, 0.7 / zoom);
    context.beginPath();
    for (const { source, target } of edges) {
      const [a, b] = [boxes.get(source), boxes.get(target)];
      if (a === undefined || b === undefined) continue;
      context.moveTo(a.x + a.width / 2, a.y + a.height / 2);
      context.lineTo(b.x + b.width / 2, b.y + b.height / 2);
    }
    context.stroke();
    context.font = `${FONT / zoom}px ${style.fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const node of nodes) {
      if (node.hidden === true) continue;
      const box = rectOf(node);
      if (!isInSight(box)) continue;
      const [w, h] = [Math.max(box.width, LEAST / zoom), Math.max(box.height, LEAST / zoom)];
      const paint = node.data.look.background;
      context.fillStyle = node.data.open ? color("--frame") : paint === undefined || paint.includes("(") ? color(w * zoom > OUTLINED ? "--raised" : MARKS[node.data.mark]) : paint;
      context.fillRect(box.x, box.y, w, h);
      context.strokeStyle = color(MARKS[node.data.mark]);
      context.lineWidth = (node.data.mark === "" ? 0.75 : 2) / zoom;
      if (w * zoom > OUTLINED) context.strokeRect(box.x, box.y, w, h);
      if (w * zoom < NAMED || h * zoom < FONT || node.data.open) continue;
      context.fillStyle = node.data.look.text ?? ink;
      context.fillText(clipped(node.data.label, (w * zoom - 4) / (FONT * LETTER)), box.x + w / 2, box.y + h / 2);
    }
  }, [nodes, edges, x, y, zoom, width, height]);
  return <canvas ref={canvas} className="overview" aria-hidden="true" />;
}

/** The first line of a name, as far as it fits. */
function clipped(label: string, letters: number): string {
  const line = visible(label.split("\n", 1)[0]!);
  return line.length <= letters ? line : `${line.slice(0, Math.max(1, Math.floor(letters) - 1))}…`;
}
