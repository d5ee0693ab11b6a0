import DOMPurify from "dompurify";
import { useMemo } from "react";
import { nonce } from "../app/theme";

const STYLE = "body{font:14px/1.6 system-ui;margin:16px;color:#222;background:#fff}table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:3px 8px}pre{background:#f5f5f5;padding:8px;overflow:auto}img{max-width:100%}";

/** HTML of a job: cleaned, then in a frame that runs nothing, sends nothing and loads nothing from elsewhere. */
export function SafeHtml({ html, title, height = 420 }: { html: string; title: string; height?: number }) {
  const page = useMemo(() => {
    // Styles are dropped before parsing: the page's own policy would complain of each, though none is ever applied.
    const plain = html.replace(/<style[\s\S]*?<\/style\s*>/gi, "").replace(/\sstyle\s*=\s*(?:"[^"]*"|'[^']*')/gi, "");
    const clean = DOMPurify.sanitize(plain, {
      FORBID_TAGS: ["form", "input", "button", "iframe", "object", "embed", "style", "link", "meta", "base"],
      FORBID_ATTR: ["style", "srcset", "ping", "action", "formaction"],
      ALLOWED_URI_REGEXP: /^(?:data:image\/(?:png|jpeg|gif|webp);|#)/i,
    });
    const policy = `default-src 'none'; img-src data:; style-src 'nonce-${nonce}'`;
    return `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><style nonce="${nonce}">${STYLE}</style>${clean}`;
  }, [html]);
  return <iframe className="frame" sandbox="" srcDoc={page} title={title} style={{ height }} />;
}
