import type { FlowView } from "../../../api/types";

/** Colours of ours: pale, so that the same dark ink is readable on each, whatever the scheme of the page. */
export const PALETTE: readonly { name: string; value: string }[] = [
  { name: "blue", value: "#cfe2f7" },
  { name: "teal", value: "#c9ece6" },
  { name: "green", value: "#d3efd2" },
  { name: "yellow", value: "#faedb5" },
  { name: "orange", value: "#fbdcc0" },
  { name: "red", value: "#f8d0cd" },
  { name: "purple", value: "#e2d6f5" },
  { name: "grey", value: "#dfe3e8" },
];

/** What every flow has that nobody coloured: the page shows it in its own colours, so this also takes a colour away. */
export const PLAIN: Readonly<Record<Part, string>> = { background: "#1a192b", border: "#2b2253", text: "#ffffff" };

export type Part = "background" | "border" | "text";
export type Look = Partial<Record<Part, string>>;

interface Colors {
  perNode?: Record<string, Look>;
  allNodes?: Look;
}

/** The colours that somebody gave to a node, or to all of them; text without a colour gets one that is readable. */
export function looks(flow: FlowView): (node: string) => Look {
  const colors = ((flow.settings as { colors?: Colors }).colors ?? {}) satisfies Colors;
  return (node) => {
    const given = (part: Part): string | undefined => {
      const value = colors.perNode?.[node]?.[part] ?? colors.allNodes?.[part];
      return value === PLAIN[part] ? undefined : value;
    };
    const [background, border, text] = [given("background"), given("border"), given("text")];
    const ink = text ?? (background === undefined ? undefined : inkOn(background));
    return Object.fromEntries(Object.entries({ background, border, text: ink }).filter(([, value]) => value !== undefined));
  };
}

const DARK = "#16181b";
const LIGHT = "#ffffff";

/** Dark or light, whichever is read better on the colour; of one that is not told by its numbers nothing is known. */
export function inkOn(color: string): string | undefined {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(color.trim())?.[1] ?? asHex(color);
  if (hex === undefined) return undefined;
  const digits = hex.length === 3 ? [...hex].map((digit) => digit + digit) : (hex.match(/../g) ?? []);
  const [red, green, blue] = digits.map((each) => linear(parseInt(each, 16) / 255)) as [number, number, number];
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) / 0.0585 > 1.05 / (luminance + 0.05) ? DARK : LIGHT;
}

function linear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

let scratch: CanvasRenderingContext2D | null = null;

/** The browser knows what "tomato" and hsl(9 100% 64%) are; a gradient, and what one sees through, it does not write so. */
function asHex(color: string): string | undefined {
  if (typeof document === "undefined" || !CSS.supports("color", color)) return undefined;
  scratch ??= document.createElement("canvas").getContext("2d");
  if (scratch === null) return undefined;
  scratch.fillStyle = color;
  return /^#([0-9a-f]{6})$/.exec(String(scratch.fillStyle))?.[1];
}
