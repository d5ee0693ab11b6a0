/** The figures that a node can have: outlines within a box, and where links meet them. */

export const SHAPES = [
  ["rect", "Rectangle"],
  ["round", "Rounded"],
  ["stadium", "Start or end"],
  ["diamond", "Decision"],
  ["cylinder", "Database"],
  ["subroutine", "Subroutine"],
  ["circle", "Circle"],
  ["double_circle", "Double circle"],
  ["hexagon", "Hexagon"],
  ["parallelogram", "Parallelogram"],
  ["parallelogram_back", "Parallelogram, back"],
  ["trapezoid", "Trapezoid"],
  ["trapezoid_back", "Trapezoid, upside down"],
  ["flag", "Flag"],
] as const;

export type Shape = (typeof SHAPES)[number][0];
export type Side = "top" | "right" | "bottom" | "left";

/** Needs its whole height; others are as high as their text. */
const TALL: ReadonlySet<string> = new Set(["diamond", "circle", "double_circle"]);

export function isTall(shape: Shape): boolean {
  return TALL.has(shape);
}

export function shapeOf(given: unknown): Shape {
  return SHAPES.find(([shape]) => shape === given)?.[0] ?? "rect";
}

export const RADIUS = 6;

/** The corner radius of those that are boxes; null for what needs a path. */
export function radiusOf(shape: Shape, height: number, own = RADIUS): number | null {
  return shape === "rect" ? own : shape === "round" ? Math.max(own, 14) : shape === "stadium" ? height / 2 : null;
}

export function slopeOf(width: number, height: number): number {
  return Math.min(width / 4, height / 2);
}

/** The outline and the lines inside it, as paths from 0, 0. */
export function figureOf(shape: Shape, w: number, h: number): { outline: string; inner: string } {
  const s = slopeOf(w, h);
  const polygon = (...points: [number, number][]): string => `M${points.map(([x, y]) => `${n(x)} ${n(y)}`).join("L")}Z`;
  const ellipse = (inset: number): string => {
    const [rx, ry] = [n(w / 2 - inset), n(h / 2 - inset)];
    return `M${n(inset)} ${n(h / 2)}A${rx} ${ry} 0 0 1 ${n(w - inset)} ${n(h / 2)}A${rx} ${ry} 0 0 1 ${n(inset)} ${n(h / 2)}Z`;
  };
  const box = (r: number): string => `M${n(r)} 0H${n(w - r)}A${n(r)} ${n(r)} 0 0 1 ${n(w)} ${n(r)}V${n(h - r)}A${n(r)} ${n(r)} 0 0 1 ${n(w - r)} ${n(h)}H${n(r)}A${n(r)} ${n(r)} 0 0 1 0 ${n(h - r)}V${n(r)}A${n(r)} ${n(r)} 0 0 1 ${n(r)} 0Z`;
  switch (shape) {
    case "diamond":
      return { outline: polygon([w / 2, 0], [w, h / 2], [w / 2, h], [0, h / 2]), inner: "" };
    case "hexagon":
      return { outline: polygon([s, 0], [w - s, 0], [w, h / 2], [w - s, h], [s, h], [0, h / 2]), inner: "" };
    case "parallelogram":
      return { outline: polygon([s, 0], [w, 0], [w - s, h], [0, h]), inner: "" };
    case "parallelogram_back":
      return { outline: polygon([0, 0], [w - s, 0], [w, h], [s, h]), inner: "" };
    case "trapezoid":
      return { outline: polygon([s, 0], [w - s, 0], [w, h], [0, h]), inner: "" };
    case "trapezoid_back":
      return { outline: polygon([0, 0], [w, 0], [w - s, h], [s, h]), inner: "" };
    case "flag":
      return { outline: polygon([0, 0], [w, 0], [w, h], [0, h], [s, h / 2]), inner: "" };
    case "circle":
      return { outline: ellipse(0), inner: "" };
    case "double_circle":
      return { outline: ellipse(0), inner: ellipse(4) };
    case "subroutine":
      return { outline: box(2), inner: `M8 0V${n(h)}M${n(w - 8)} 0V${n(h)}` };
    case "cylinder": {
      const lid = Math.min(h / 6, 8);
      const arc = `A${n(w / 2)} ${n(lid)} 0 0`;
      return { outline: `M0 ${n(lid)}${arc} 1 ${n(w)} ${n(lid)}V${n(h - lid)}${arc} 1 0 ${n(h - lid)}Z`, inner: `M0 ${n(lid)}${arc} 0 ${n(w)} ${n(lid)}` };
    }
    default:
      return { outline: box(Math.min(radiusOf(shape, h) ?? RADIUS, h / 2, w / 2)), inner: "" };
  }
}

/** Where a link meets the outline on a side. */
export function portOf(shape: Shape, width: number, height: number, side: Side): { x: number; y: number } {
  const s = slopeOf(width, height);
  const left = shape === "flag" ? s : /^(parallelogram|trapezoid)/.test(shape) ? s / 2 : 0;
  const right = /^(parallelogram|trapezoid)/.test(shape) ? s / 2 : 0;
  if (side === "left") return { x: left, y: height / 2 };
  if (side === "right") return { x: width - right, y: height / 2 };
  return { x: width / 2, y: side === "top" ? 0 : height };
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}
