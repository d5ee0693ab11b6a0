import { around } from "../../../shared/flows/boxes";
import type { Point } from "../../../shared/flows/elements";
import type { End } from "../canvas/lines";
import type { DrawnEdge, DrawnNode } from "../canvas/merged-graph";
import { boxesOf, curveOfLink, endOf, rectOf, routed, wordsOf as wordsOn } from "../canvas/routes";
import { figureOf, type Side } from "../../../shared/flows/shapes";

const MARGIN = 32;
const MAX_PIXELS = 16_000_000; // of a PNG: browsers refuse canvases that are much larger
const FONT = '12.5px Geist, system-ui, "Segoe UI", Roboto, sans-serif';
const MAX_LINES = 4;

/** The colors of the page, by the names of the tokens. */
export type Tokens = (name: string) => string;

export function tokensOf(element: Element): Tokens {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

/** A flow as one sees it on the canvas, as SVG: the whole of it, whatever is in view. */
export function svgOf(all: readonly DrawnNode[], links: readonly DrawnEdge[], token: Tokens, background: { background: string; ink: string } | null): { svg: string; width: number; height: number } {
  const nodes = all.filter((node) => node.hidden !== true);
  const edges = routed(nodes, links);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const curves = edges.flatMap((edge) => {
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    if (source === undefined || target === undefined) return [];
    const [from, to] = [edge.sourceHandle as Side, edge.targetHandle as Side];
    const { path, at } = curveOfLink(source, target, from, to, edge.data?.lane ?? 0, edge.data?.corners);
    const box = rectOf(target);
    const end: End = source === target ? { x: box.x + box.width - Math.min(24, box.width / 4), y: box.y, side: "top" } : endOf(target, to);
    return [{ edge, path, end, middle: at(edge.data?.wordsAt ?? 0.5) }];
  });
  const words = curves.map(({ middle }) => ({ x: middle.x - 40, y: middle.y - 10, width: 80, height: 20 }));
  const whole = around([...boxesOf(nodes).values(), ...words]);
  const [width, height] = [Math.ceil(whole.width + 2 * MARGIN), Math.ceil(whole.height + 2 * MARGIN)];
  const view = `${Math.floor(whole.x - MARGIN)} ${Math.floor(whole.y - MARGIN)} ${width} ${height}`;
  const link = background?.ink ?? token("text-3");
  const canvas = background === null || background.background.includes("gradient(") ? token("bg-subtle") : background.background;
  const parts = [
    `<rect x="${Math.floor(whole.x - MARGIN)}" y="${Math.floor(whole.y - MARGIN)}" width="${width}" height="${height}" fill="${xml(canvas)}"/>`,
    ...nodes.filter((node) => node.data.open).sort((a, b) => b.data.inside.length - a.data.inside.length).map((node) => boxOf(node, token)),
    ...curves.map(({ edge, path, end }) => lineOf(edge, path, end, token, link)),
    ...nodes.filter((node) => !node.data.open).map((node) => boxOf(node, token)),
    ...curves.map(({ edge, middle }) => wordsOf(edge, middle, token)),
  ];
  return { svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${view}" width="${width}" height="${height}" font-family="Geist, system-ui, sans-serif" font-size="12.5">${parts.join("")}</svg>`, width, height };
}

const MARK = { added: "good", changed: "warn", removed: "bad" } as const;

function boxOf(node: DrawnNode, token: Tokens): string {
  const { x, y, width, height } = rectOf(node);
  const { data } = node;
  const tone = data.mark === "" ? null : MARK[data.mark];
  const fill = tone !== null ? token(`${tone}-soft`) : data.open ? token("bg-muted") : plain(data.look.background) ?? (data.group ? token("bg-muted") : token("raised"));
  const stroke = tone !== null ? token(`${tone}-mark`) : (data.look.border ?? token(data.open ? "line-strong" : "line-field"));
  const ink = tone === null && !data.open ? (data.look.text ?? token("text")) : token(data.open ? "text-2" : "text");
  const { outline, inner } = data.open ? figureOf("round", width, height) : figureOf(data.shape, width, height);
  const dash = data.mark === "removed" ? ' stroke-dasharray="5 4"' : "";
  const look = `stroke="${xml(stroke)}" stroke-width="${tone === null ? 1 : 2}"${dash}`;
  const figure = `<path d="${outline}" fill="${xml(fill)}" ${look}/>${inner === "" ? "" : `<path d="${inner}" fill="none" ${look}/>`}`;
  if (data.open) return `<g transform="translate(${x} ${y})">${figure}<text x="12" y="20" fill="${xml(ink)}" font-weight="500" font-size="12">${xml(data.label)}</text></g>`;
  const room = width * (data.shape === "diamond" ? 0.55 : /circle|hexagon|flag/.test(data.shape) ? 0.66 : 1) - 20;
  const lines = wrapped(data.label, room);
  const top = height / 2 - (lines.length + (data.description === "" ? 0 : 1) - 1) * 8 + 4.5 + (data.shape === "cylinder" ? 4 : 0);
  const text = lines.map((line, at) => `<text x="${width / 2}" y="${top + at * 16}" text-anchor="middle" fill="${xml(ink)}">${xml(line)}</text>`).join("");
  const more = data.description === "" ? "" : `<text x="${width / 2}" y="${top + lines.length * 16}" text-anchor="middle" font-size="11" fill="${xml(data.look.text ?? token("text-2"))}">${xml(wrapped(data.description, room)[0] ?? "")}</text>`;
  return `<g transform="translate(${x} ${y})"><title>${xml(data.label)}</title>${figure}${text}${more}</g>`;
}

const TURN: Readonly<Record<Side, number>> = { left: 0, top: 90, right: 180, bottom: 270 };

function lineOf(edge: DrawnEdge, path: string, end: End, token: Tokens, link: string): string {
  const { line = "arrow", mark = "", color } = edge.data ?? {};
  if (line === "invisible") return "";
  const stroke = mark === "" ? (color ?? link) : token(`${MARK[mark]}-mark`);
  const dash = mark === "removed" ? "5 4" : line.startsWith("dotted") ? "4 4" : "";
  const width = line.startsWith("thick") ? 3 : mark === "" ? 1.25 : 2;
  const head = line === "open" || line.endsWith("_open") ? "" : `<path d="M0 0-9-4.5-9 4.5Z" transform="translate(${end.x} ${end.y}) rotate(${TURN[end.side]})" fill="${xml(stroke)}"/>`;
  return `<path d="${path}" fill="none" stroke="${xml(stroke)}" stroke-width="${width}"${dash === "" ? "" : ` stroke-dasharray="${dash}"`}/>${head}`;
}

function wordsOf(edge: DrawnEdge, middle: Point, token: Tokens): string {
  const { mark = "" } = edge.data ?? {};
  const words = wordsOn(edge);
  if (words === "") return "";
  const lines = wrapped(words, 172);
  const width = Math.max(...lines.map(widthOf)) + 8;
  const height = lines.length * 16;
  const [ink, fill] = mark === "" ? [token("text-2"), token("bg-subtle")] : [token(MARK[mark]), token(`${MARK[mark]}-soft`)];
  const text = lines.map((line, at) => `<text x="${middle.x}" y="${middle.y - height / 2 + at * 16 + 12}" text-anchor="middle" font-size="11.5" fill="${xml(ink)}">${xml(line)}</text>`).join("");
  return `<rect x="${middle.x - width / 2}" y="${middle.y - height / 2}" width="${width}" height="${height}" rx="4" fill="${xml(fill)}"/>${text}`;
}

let scratch: CanvasRenderingContext2D | null | undefined;

function widthOf(text: string): number {
  scratch ??= document.createElement("canvas").getContext("2d");
  if (!scratch) return text.length * 6.6;
  scratch.font = FONT;
  return scratch.measureText(text).width;
}

/** The lines of a text in that width; what does not fit ends with dots. */
function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const part of text.split("\n")) {
    let line = "";
    for (const word of part.split(/(?<=\s)/)) {
      if (line !== "" && widthOf(line + word) > room) {
        lines.push(line.trimEnd());
        line = "";
      }
      line += word;
      while (widthOf(line) > room && line.length > 1) {
        let most = line.length - 1;
        while (most > 1 && widthOf(line.slice(0, most)) > room) most -= 1;
        lines.push(line.slice(0, most));
        line = line.slice(most);
      }
    }
    lines.push(line.trimEnd());
  }
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES - 1), `${lines[MAX_LINES - 1]!.slice(0, -1)}…`];
}

/** A gradient is not a fill in SVG: then the page's own colour is taken. */
function plain(paint: string | undefined): string | undefined {
  return paint?.includes("gradient(") ? undefined : paint;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** Without the characters that XML cannot hold. */
function xml(text: string): string {
  return [...text].filter((char) => char >= " " || char === "\t").join("").replace(/[&<>"']/g, (char) => ENTITIES[char]!).replace(/[\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "");
}

/** The picture in pixels, twice as fine as the screen unless it is very large. */
export async function pngOf({ svg, width, height }: { svg: string; width: number; height: number }): Promise<Blob> {
  const scale = Math.min(2, Math.sqrt(MAX_PIXELS / (width * height)));
  const image = new Image();
  image.width = width;
  image.height = height;
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [Math.max(1, Math.round(width * scale)), Math.max(1, Math.round(height * scale))];
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done, fail) => canvas.toBlob((blob) => (blob === null ? fail(new Error("The picture is too large.")) : done(blob)), "image/png"));
  } finally {
    URL.revokeObjectURL(url);
  }
}
