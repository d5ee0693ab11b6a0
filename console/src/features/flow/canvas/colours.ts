import type { FlowView } from "../../../api/types";
import type { FlowNode } from "../../../shared/flows/elements";

/** Colours of ours: pale, so that the same dark ink is readable on each, whatever the scheme of the page. */
export const PALETTE: readonly { name: string; value: string }[] = [
  { name: "blue", value: "#cfe2f7" },
  { name: "teal", value: "#c9ece6" },
  { name: "green", value: "#d3efd2" },
  { name: "yellow", value: "#faedb5" },
  { name: "orange", value: "#fbdcc0" },
  { name: "red", value: "#f8d0cd" },
  { name: "purple", value: "#e2d6f5" },
  { name: "gray", value: "#dfe3e8" },
];

/** Default of a flow without colours: the page shows it in its own colours, so this also takes a colour away. */
export const PLAIN: Readonly<Record<Part, string>> = { background: "#1a192b", border: "#2b2253", text: "#ffffff" };
const PLAIN_CANVAS = "linear-gradient(180deg, #0f0a1a 0%, #1a0f2e 100%)";

export type Part = "background" | "border" | "text";
export type Look = Partial<Record<Part, string>>;

interface Colors {
  perNode?: Record<string, Look>;
  allNodes?: Look;
  background?: string;
}

const OWN: Readonly<Record<Part, readonly string[]>> = { background: ["background", "backgroundColor"], border: ["borderColor"], text: ["color"] };
const ENOUGH = 4.5; // contrast of a text, as WCAG requires

function colorsOf(flow: FlowView): Colors {
  return ((flow.settings as { colors?: Colors }).colors ?? {}) satisfies Colors;
}

/** The colours that were given to a node, or to all of them, or that React Flow has of it; the text is readable on what is behind it. */
export function looks(flow: FlowView): (node: Pick<FlowNode, "id" | "style">) => Look {
  const colors = colorsOf(flow);
  return ({ id, style }) => {
    const given = (part: Part): string | undefined => {
      const own = OWN[part].map((name) => style?.[name]).find((value) => typeof value === "string" && isPaint(value)) as string | undefined;
      const value = colors.perNode?.[id]?.[part] ?? own ?? colors.allNodes?.[part];
      return value === PLAIN[part] ? undefined : value;
    };
    const [fill, border, wanted] = [given("background"), given("border"), given("text")];
    // Words in a colour of their own were meant for the dark box that every flow begins with.
    const background = fill ?? (wanted === undefined ? undefined : PLAIN.background);
    const text = background === undefined ? undefined : readable(wanted, background);
    return Object.fromEntries(Object.entries({ background: background && overWhite(background), border, text }).filter(([, value]) => value !== undefined));
  };
}

/** The colour that was given to the canvas, and what is read on it; null for the page's own. */
export function canvasLook(flow: FlowView): { background: string; ink: string } | null {
  const { background } = colorsOf(flow);
  if (!background || background === PLAIN_CANVAS) return null;
  return { background: overWhite(background), ink: inkOn(background) ?? DARK };
}

const DARK = "#16181b";
const LIGHT = "#ffffff";

/** The wanted colour where it can be read on the other, else dark or light. */
function readable(wanted: string | undefined, background: string): string | undefined {
  const ink = wanted === undefined ? undefined : hexesIn(wanted)[0];
  const behind = hexesIn(background);
  if (ink !== undefined && behind.length > 0 && behind.every((hex) => contrast(ink, hex) >= ENOUGH)) return wanted;
  return inkOn(background);
}

/** Dark or light, whichever is read better on a colour, or on the worst part of a gradient; of what names no colour nothing is known. */
export function inkOn(paint: string): string | undefined {
  const hexes = hexesIn(paint);
  if (hexes.length === 0) return undefined;
  const worst = (ink: string): number => Math.min(...hexes.map((hex) => contrast(ink, hex)));
  return worst(DARK) > worst(LIGHT) ? DARK : LIGHT;
}

const COLOR = /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|hwb|lab|lch|oklab|oklch|color)a?\([^()]*\)|\b[a-z]{3,}\b(?!\()/gi;

/** The colours that a paint names, opaque: what one sees through lies over white. */
function hexesIn(paint: string): string[] {
  return (paint.match(COLOR) ?? []).flatMap((text) => asHex(text) ?? []);
}

/** A paint that nothing of the page shows through. */
function overWhite(paint: string): string {
  const [only, ...others] = hexesIn(paint);
  if (paint.includes("gradient(")) return `${paint}, #fff`;
  return only === undefined || others.length > 0 ? paint : only;
}

export function isPaint(text: string): boolean {
  return /gradient\(/.test(text) ? typeof CSS !== "undefined" && CSS.supports("background", text) : asHex(text) !== undefined;
}

export function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

function luminance(hex: string): number {
  const [red, green, blue] = bytesOf(hex).map((each) => linear(each / 255)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function linear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

function bytesOf(hex: string): number[] {
  const digits = hex.slice(1);
  return (digits.length < 6 ? [...digits].map((digit) => digit + digit) : (digits.match(/../g) ?? [])).map((each) => parseInt(each, 16));
}

let scratch: CanvasRenderingContext2D | null = null;

/** As "#rrggbb" over white. The browser knows what "tomato" and hsl(9 100% 64%) are. */
function asHex(color: string): string | undefined {
  if (/^#([0-9a-f]{3}|[0-9a-f]{4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(color)) return blended(bytesOf(color));
  if (typeof document === "undefined" || !CSS.supports("color", color) || /^(inherit|initial|unset|revert|currentcolor)$/i.test(color)) return undefined;
  scratch ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  if (scratch === null) return undefined;
  scratch.clearRect(0, 0, 1, 1);
  scratch.fillStyle = color;
  scratch.fillRect(0, 0, 1, 1);
  const [red, green, blue, alpha] = scratch.getImageData(0, 0, 1, 1).data;
  return blended([red!, green!, blue!, alpha!]);
}

function blended([red, green, blue, alpha = 255]: number[]): string {
  return `#${[red, green, blue].map((part) => Math.round((part! * alpha + 255 * (255 - alpha)) / 255).toString(16).padStart(2, "0")).join("")}`;
}
