import { useReactFlow, useStore, type Node } from "@xyflow/react";
import { useEffect, useMemo, useRef, type PointerEvent } from "react";

const WIDTH = 160;
const HEIGHT = 100;

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Every node as a dot on one canvas, with the part in sight framed; a click goes there. The library's own has an element for each node. */
export default function Minimap({ nodes }: { nodes: readonly Node[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { setCenter, getZoom } = useReactFlow();
  const [x, y, zoom] = useStore((state) => state.transform);
  const [width, height] = [useStore((state) => state.width), useStore((state) => state.height)];
  const boxes = useMemo(() => nodes.filter((node) => node.hidden !== true && node.data.open !== true).map(boxOf), [nodes]);
  const whole = useMemo(() => bounds(boxes), [boxes]);
  const scale = Math.min(WIDTH / whole.width, HEIGHT / whole.height);
  // In the middle of the map: a diagram of one row would lie on its edge.
  const left = whole.x - (WIDTH / scale - whole.width) / 2;
  const top = whole.y - (HEIGHT / scale - whole.height) / 2;
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const style = getComputedStyle(canvas.current!);
    context.clearRect(0, 0, WIDTH, HEIGHT);
    context.fillStyle = style.color;
    for (const box of boxes) context.fillRect((box.x - left) * scale, (box.y - top) * scale, Math.max(2, box.width * scale), Math.max(2, box.height * scale));
    context.strokeStyle = style.outlineColor;
    context.lineWidth = 2;
    context.strokeRect((-x / zoom - left) * scale, (-y / zoom - top) * scale, (width / zoom) * scale, (height / zoom) * scale);
  }, [boxes, left, top, scale, x, y, zoom, width, height]);
  const go = (event: PointerEvent<HTMLCanvasElement>): void => {
    const map = event.currentTarget.getBoundingClientRect();
    void setCenter((event.clientX - map.left) / scale + left, (event.clientY - map.top) / scale + top, { zoom: getZoom() });
  };
  return <canvas ref={canvas} className="minimap" width={WIDTH} height={HEIGHT} aria-hidden="true" onPointerDown={go} />;
}

function boxOf(node: Node): Box {
  return { ...node.position, width: Number(node.width ?? node.measured?.width ?? 150), height: Number(node.height ?? node.measured?.height ?? 40) };
}

function bounds(boxes: readonly Box[]): Box {
  const [left, top] = [boxes.reduce((least, box) => Math.min(least, box.x), Infinity), boxes.reduce((least, box) => Math.min(least, box.y), Infinity)];
  if (boxes.length === 0) return { x: 0, y: 0, width: 1, height: 1 };
  const right = boxes.reduce((most, box) => Math.max(most, box.x + box.width), -Infinity);
  const bottom = boxes.reduce((most, box) => Math.max(most, box.y + box.height), -Infinity);
  return { x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 1) };
}
