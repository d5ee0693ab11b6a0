import { useComputedColorScheme } from "@mantine/core";
import DOMPurify from "dompurify";
import { useMemo, useState } from "react";
import { nonce } from "../../app/theme";

const MARGIN = 16;
const SHAPE = `body{font:14px/1.6 system-ui;margin:${MARGIN}px}table{border-collapse:collapse}td,th{border:1px solid;padding:3px 8px}pre{padding:8px;overflow:auto}img{max-width:100%}.failed{padding:8px 12px;border-left:3px solid}.value:focus-visible{outline:2px solid;outline-offset:2px}`;
// A frame sees nothing of the page around it, its colours neither: they are written into it.
const COLOURS = {
  light: "html{color-scheme:light}body{color:#222;background:#fff}td,th{border-color:#ccc}pre{background:#f5f5f5}a{color:#1864ab}.failed{color:#b62a1f;background:#fdefed}.value{border-bottom:2px solid #1971c2;cursor:pointer}",
  // Pictures keep white behind them: a plot that is drawn in black on nothing could not be seen.
  dark: "html{color-scheme:dark}body{color:#d5dae0;background:#1b1e22}td,th{border-color:#33383f}pre{background:#22262b}a{color:#74b3f2}img,svg{background:#fff;color:#222}.failed{color:#ff958a;background:#2e1715}.value{border-bottom:2px solid #74b3f2;cursor:pointer}",
};

/** The attributes of HTML and SVG that hold an address. */
const ADDRESSES = new Set(["href", "xlink:href", "src", "background", "cite", "longdesc", "lowsrc", "dynsrc", "poster", "usemap", "profile", "data", "codebase", "classid", "archive", "icon", "manifest", "xml:base"]);
const OWN_ADDRESS = /^(?:data:image\/(?:png|jpeg|gif|webp);|#)/i;
const ADDRESS_INSIDE = /url\(\s*["']?\s*(?!#)/i; // of a fill or a filter, which may name a part of the picture only

// The library's own list of allowed addresses is checked against every attribute, and so took "10" of x and "2" of colspan away.
const cleaner = DOMPurify(window);
cleaner.addHook("uponSanitizeAttribute", (_node, data) => {
  const isElsewhere = ADDRESSES.has(data.attrName) ? !OWN_ADDRESS.test(data.attrValue) : ADDRESS_INSIDE.test(data.attrValue);
  if (isElsewhere) data.keepAttr = false;
});

interface Props {
  html: string;
  title: string;
  height?: number;
  /** Called with each page that is shown, to mark it: its frame is then of our origin, so that our code reaches it. */
  onPage?: (page: Document | null) => void;
}

/** HTML of a job: cleaned, then in a frame that runs nothing, sends nothing and loads nothing from elsewhere. */
export function SafeHtml({ html, title, height = 420, onPage }: Props) {
  const scheme = useComputedColorScheme("light");
  const page = useMemo(() => {
    // Styles are dropped before parsing: the page's own policy would complain of each, though none is ever applied.
    const plain = html.replace(/<style[\s\S]*?<\/style\s*>/gi, "").replace(/\sstyle\s*=\s*(?:"[^"]*"|'[^']*')/gi, "");
    const clean = cleaner.sanitize(plain, {
      FORBID_TAGS: ["form", "input", "button", "iframe", "object", "embed", "style", "link", "meta", "base"],
      FORBID_ATTR: ["style", "srcset", "ping", "action", "formaction"],
    });
    const policy = `default-src 'none'; img-src data:; style-src 'nonce-${nonce}'`;
    return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><style nonce="${nonce}">${SHAPE}${COLOURS[scheme]}</style>${clean}`;
  }, [html, scheme]);
  const shown = (page: Document | null): void => {
    if (page !== null) setFit(Math.min(height, page.body.offsetHeight + 2 * MARGIN + 2));
    onPage?.(page);
  };
  // Never with allow-scripts: with both, what runs in the frame could take the sandbox off.
  const [fit, setFit] = useState(height);
  const sandbox = onPage === undefined ? "" : "allow-same-origin";
  return <iframe className="frame" sandbox={sandbox} srcDoc={page} title={title} style={{ height: fit }} onLoad={(event) => shown(event.currentTarget.contentDocument)} />;
}
