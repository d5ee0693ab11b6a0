"""The document as one HTML page of its own: prose, code, outputs and answers, with nothing in it that runs."""

from __future__ import annotations

import base64
import html
import re
import time
from collections.abc import Sequence

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from services.execution.documents.parse.nodes import (
    Chunk,
    DocumentNode,
    DocumentTree,
    Expression,
    Instruction,
    Suggestion,
    walk,
)
from services.execution.documents.parse.notation import attributes
from services.execution.documents.run.running import RunningDocument
from shared.contracts.document import Block
from shared.contracts.execute import Display
from shared.errors import NotFound

_PICTURES = ("image/png", "image/jpeg", "image/svg+xml")
_MOST_SIGNS, _MOST_SECONDS = 500, 10.0  #: in one paragraph; for all of them
_MOST_IMAGE, _MOST_PAGE = 10_000_000, 50_000_000
_STYLE = (
    "body{max-width:46rem;margin:2rem auto;font:16px/1.5 sans-serif;padding:0 1rem}"
    "pre{overflow:auto;background:#f4f4f4;padding:.6rem}table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.2rem .5rem}img{max-width:100%}"
    ".by{color:#666;font-size:.8rem;margin:0}.error{color:#a00}.warning{color:#850}"
    ".answer{border-left:3px solid #888;padding-left:1rem}"
)
#: A picture within a page has no scripts and loads nothing, also an SVG.
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*\Z")
_TAGS = nh3.ALLOWED_TAGS | {"section", "aside", "figure"}
_ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, "section": {"class"}, "aside": {"class"}, "p": {"class"}, "code": {"class"}}
_BRACES = re.compile(r"\{([^{}\n]{0,500})\}")
_COMMENT = re.compile(r"\{(?:>>|<<)[\w.-]{1,100}\}")
_WITHIN = "within a change"  #: in the environment of a parse: changes do not nest


def page(document: RunningDocument, tree: DocumentTree) -> bytes:
    """The written document with the outputs of its blocks, in the order of its lines."""
    by_id = {block.id: block for block in document.blocks.values()}
    body = _PageBody(document, tree, by_id).html()
    clean = _cleaned(body)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'; base-uri 'none'\">"
        f"<title>{_title(clean)}</title><style>{_STYLE}</style></head><body><main>{clean}</main></body></html>"
    ).encode("utf-8", "replace")


def _alternative_text(node: DocumentNode, block: Block) -> str:
    """The alternative text of a picture: the author's own where there is one."""
    options = node.options if isinstance(node, Chunk) else {}
    return options.get("fig-alt") or options.get("fig-cap") or options.get("caption") or f"A figure of {block.id}"


def _title(clean: str) -> str:
    """The first heading's text, which is escaped already."""
    heading = re.search(r"<h1>(.{1,2000}?)</h1>", clean, re.S)
    return re.sub(r"<[^>]*>", "", heading[1]) if heading else "Document"


def _cleaned(body: str) -> str:
    """Nothing that runs, and nothing that the page would fetch from elsewhere."""
    return nh3.clean(
        body,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_filtered,
        url_schemes={"http", "https", "mailto", "data"},
    )


def _filtered(tag: str, attribute: str, value: str) -> str | None:
    if attribute in ("src", "cite", "longdesc", "background"):
        return value if tag == "img" and attribute == "src" and _PICTURE.match(value) else None
    if attribute == "href":
        return None if value.lower().lstrip().startswith("data:") else value
    return value


class _Inline:
    """Parses inline Markdown, but not in paragraphs with so many signs that it would take quadratic time."""

    def __init__(self) -> None:
        self._left = _MOST_SECONDS

    def __call__(self, state: StateCore) -> None:
        for token in state.tokens:
            if token.type != "inline" or token.children is None:
                continue
            if self._left < 0 or any(token.content.count(sign) > _MOST_SIGNS for sign in "[*_`<!~&{"):
                token.children.append(Token("text", "", 0, content=token.content))
                continue
            began = time.monotonic()
            state.md.inline.parse(token.content, state.md, state.env, token.children)
            self._left -= time.monotonic() - began


class _PageBody:
    def __init__(self, document: RunningDocument, tree: DocumentTree, blocks: dict[str, Block]) -> None:
        self._document, self._tree, self._blocks = document, tree, blocks
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table").enable("strikethrough")
        self._markdown.core.ruler.at("inline", _Inline())
        if document.request.flavour == "stencila":
            self._markdown.inline.ruler.push("change", _change)
        self._size = 0

    def html(self) -> str:
        special: dict[int, DocumentNode] = {
            node.start: node for node in walk(self._tree.content) if isinstance(node, (Chunk, Instruction, Suggestion))
        }
        inline: dict[int, list[Expression]] = {}
        for each in walk(self._tree.content):
            if isinstance(each, Expression):
                inline.setdefault(each.start, []).append(each)
        parts: list[str] = []
        text: list[str] = []
        lines = self._tree.lines
        comments = dict(self._tree.comments)
        at = 0
        while at < len(lines):
            if at in comments:
                at = comments[at]
                continue
            node = special.get(at)
            if node is None:
                if not lines[at].lstrip().startswith(":::"):
                    text.append(self._line(lines[at], inline.get(at, [])))
                at += 1
                continue
            parts.append(self._prose(text))
            text = []
            parts.append(self._block(node))
            at = at + 1 if isinstance(node, Instruction) else max(node.end, at + 1)
        parts.append(self._prose(text))
        return "".join(parts)

    def _line(self, line: str, expressions: Sequence[Expression]) -> str:
        """A line with the values of its code in place of the code."""
        for node in sorted(expressions, key=lambda one: -one.columns[0]):
            block = self._blocks.get(node.id)
            if block is not None and block.outputs:
                value = re.sub(r"([\\`*_{}\[\]<>()#+!|~&])", r"\\\1", str(block.outputs[-1].text))
                line = f"{line[: node.columns[0]]}{value}{line[node.columns[1] :]}"
        return line

    def _prose(self, lines: Sequence[str]) -> str:
        source = "".join(lines)
        if not source.strip():
            return ""
        return str(self._markdown.render(source))

    def _block(self, node: DocumentNode) -> str:
        if isinstance(node, Suggestion):
            inner = "".join(self._tree.lines[node.start + 1 : max(node.start + 1, node.end - 1)])
            by = f'<p class="by">{html.escape(node.by)}</p>' if node.by else ""
            return f'<aside class="answer">{by}{self._markdown.render(inner)}</aside>'
        block = self._blocks.get(node.id)
        parts: list[str] = []
        if block is not None and any(message.code == "not_taken" for message in block.messages):
            return ""
        if isinstance(node, Chunk) and "hide" not in node.options and node.options.get("echo") != "false":
            parts.append(f"<pre><code>{html.escape(node.code)}</code></pre>")
        if block is not None:
            alt = _alternative_text(node, block)
            parts += [self._output(output, alt) for output in block.outputs]
            parts += [f'<p class="{m.level}">{html.escape(m.text)}</p>' for m in block.messages if m.level != "info"]
        return f"<section>{''.join(parts)}</section>" if parts else ""

    def _output(self, output: Display, alt: str) -> str:
        if output.text is not None:
            if output.media_type == "text/html":
                return _cleaned(output.text)
            if output.media_type == "image/svg+xml":
                return self._picture(output.media_type, output.text.encode("utf-8", "replace"), alt)
            return f"<pre>{html.escape(output.text)}</pre>"
        if output.file_id is None or output.media_type not in _PICTURES:
            return ""
        try:
            with self._document.context.files.open(output.file_id) as stream:
                data = stream.read(_MOST_IMAGE + 1)
        except NotFound:
            return ""
        return self._picture(output.media_type, data, alt)

    def _picture(self, media_type: str, data: bytes, alt: str) -> str:
        self._size += len(data)
        if len(data) > _MOST_IMAGE or self._size > _MOST_PAGE:
            return "<p>(an image that is too large)</p>"
        return f'<img alt="{html.escape(alt)}" src="data:{media_type};base64,{base64.b64encode(data).decode()}">'


def _change(state: StateInline, silent: bool) -> bool:
    """A change within a paragraph, in Stencila's form: ``{++new++}``, ``{--old--}``, ``{~~old~>new~~}``."""
    if state.src[state.pos] != "{" or state.env.get(_WITHIN):
        return False
    if comment := _COMMENT.match(state.src, state.pos, state.posMax):
        state.pos = comment.end()
        return True
    sign = state.src[state.pos + 1 : state.pos + 3]
    end = state.src.find(sign + "}", state.pos + 3, state.posMax) if sign in ("++", "--", "~~") else -1
    content = state.src[state.pos + 3 : end]
    if end < 0 or (sign == "~~" and "~>" not in content):
        return False
    braces = _BRACES.match(state.src, end + 3, state.posMax)
    state.pos = braces.end() if braces else end + 3
    if silent:
        return True
    by = (attributes(braces[1]) if braces else {}).get("by", "")
    old, _, new = content.partition("~>") if sign == "~~" else (content, "", content)
    if sign != "++":
        _show(state, "del", old, by)
    if sign != "--":
        _show(state, "ins", new, by)
    return True


def _show(state: StateInline, tag: str, content: str, by: str) -> None:
    opened = state.push(f"{tag}_open", tag, 1)
    if by:
        opened.attrSet("title", f"by {by}")
    inner: list[Token] = []
    state.md.inline.parse(content, state.md, {**state.env, _WITHIN: True}, inner)
    state.tokens.extend(inner)
    state.push(f"{tag}_close", tag, -1)
