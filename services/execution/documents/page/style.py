"""How a page looks: light or dark, as its reader likes it or the document says; and on paper."""

from __future__ import annotations

from typing import Literal

from services.execution.documents.page.layout import MAX_COLUMNS

Theme = Literal["light", "dark", "auto"]
_LAYOUT = (
    "body{max-width:46rem;margin:2rem auto;font:16px/1.5 sans-serif;padding:0 1rem}"
    "pre{overflow:auto;margin:.6rem 0;padding:0 .6rem}"
    "pre>code{display:block;background:var(--code);margin:0 -.6rem;padding:.6rem}"
    "pre.stderr{color:var(--pale);border-left:3px solid var(--warning)}table{border-collapse:collapse}"
    "table.dataframe td,table.dataframe th{text-align:right}section.output{overflow-x:auto}"
    "blockquote{border-left:3px solid var(--line);margin:1rem 0;padding-left:1rem;color:var(--pale)}"
    ".equation{display:flex;align-items:center}.equation math{flex:1}.equation p{margin:0}"
    ".subcaption{font-size:.85rem;color:var(--pale);margin:.2rem 0 1rem}.theorem{font-style:italic;margin:1rem 0}"
    ".theorem .callout-title{font-style:normal}"
    "td,th{border:1px solid var(--line);padding:.2rem .5rem}img{max-width:100%}"
    ".by{color:var(--pale);font-size:.8rem;margin:0}.error{color:var(--error)}.warning{color:var(--warning)}"
    ".answer{border-left:3px solid #888;padding-left:1rem}"
    "header{margin-bottom:2rem}header h1{margin-bottom:.2rem}.subtitle{font-size:1.2rem;margin:0}"
    ".abstract{margin:1rem 2rem;font-size:.95rem}"
    "nav.toc{font-size:.9rem;border-left:3px solid var(--line);padding-left:1rem;margin:1rem 0}"
    "nav.toc ul{list-style:none;padding-left:1rem;margin:0}"
    ".callout{border-left:4px solid var(--mark);background:var(--code);padding:.4rem 1rem;margin:1rem 0}"
    ".callout-title{font-weight:bold;margin:.2rem 0}.tab{font-weight:bold;margin:1rem 0 .2rem}"
    ".callout.warning,.callout.caution{--mark:#b26a00;color:inherit}.callout.important{--mark:#b00020}.callout.tip{--mark:#2e7d32}"
    # One column is one row: what it holds is all next to each other.
    ".grid{display:grid;gap:0 1.5rem;align-items:start}"
    ".columns-1{grid-auto-flow:column;grid-auto-columns:minmax(0,1fr)}"
    + "".join(f".columns-{n}{{grid-template-columns:repeat({n},minmax(0,1fr))}}" for n in range(2, MAX_COLUMNS + 1))
    + "figure{margin:1rem 0}figcaption{font-size:.9rem;color:var(--pale)}"
    ".footnotes{font-size:.9rem;border-top:1px solid var(--line);margin-top:2rem}"
    "hr.pagebreak{display:none}summary{cursor:pointer}.callout summary{font-weight:bold}"
    "math[display=block]{margin:1rem 0}hr.footnotes-sep{display:none}.callout p{margin:.3rem 0}"
)
_LIGHT = ":root{--code:#f4f4f4;--line:#ccc;--pale:#666;--error:#a00;--warning:#850;--mark:#1565c0}"
_DARK = (
    ":root{color-scheme:dark;--code:#22262b;--line:#3a4047;--pale:#9aa4ae;--error:#ff8a80;--warning:#ffcc80;--mark:#64b5f6}"
    "body{color:#d5dae0;background:#1b1e22}a{color:#74b3f2}img{background:#fff}"
)
_PRINT = (
    "@media print{body{max-width:none;margin:0}pre{white-space:pre-wrap}a{color:inherit}"
    "figure,table,pre{break-inside:avoid}h1,h2,h3,h4,h5,h6{break-after:avoid}"
    # What is folded is shown: paper cannot be opened.
    "details::details-content{content-visibility:visible;block-size:auto}"
    "hr.pagebreak{display:block;break-after:page;border:0;margin:0}}"
)


def style(theme: Theme) -> str:
    """``auto`` follows the reader's system."""
    dark = {"light": "", "dark": _DARK, "auto": f"@media screen and (prefers-color-scheme:dark){{{_DARK}}}"}[theme]
    return f"{_LIGHT}{_LAYOUT}{dark}{_PRINT}"
