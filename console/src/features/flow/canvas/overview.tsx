import { useStore } from "@xyflow/react";
import { useEffect, useRef } from "react";
import type { DrawnEdge, DrawnNode } from "./merged-graph";
import { boxesOf, rectOf } from "./routes";

const LEAST = 1.5; // pixels of a node that is very small
const OUTLINED = 12; // pixels from which on a box has an outline
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
    for (const node of nodes) {
      if (node.hidden === true) continue;
      const box = rectOf(node);
      const [w, h] = [Math.max(box.width, LEAST / zoom), Math.max(box.height, LEAST / zoom)];
      const paint = node.data.look.background;
      context.fillStyle = node.data.open ? color("--frame") : paint === undefined || paint.includes("(") ? color(w * zoom > OUTLINED ? "--raised" : MARKS[node.data.mark]) : paint;
      context.fillRect(box.x, box.y, w, h);
      context.strokeStyle = color(MARKS[node.data.mark]);
      context.lineWidth = (node.data.mark === "" ? 0.75 : 2) / zoom;
      if (w * zoom > OUTLINED) context.strokeRect(box.x, box.y, w, h);
    }
  }, [nodes, edges, x, y, zoom, width, height]);
  return <canvas ref={canvas} className="overview" aria-hidden="true" />;
}
