"""Prose as HTML: CommonMark with tables, footnotes, mathematics, callouts, ids of headings and references to them."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from services.execution.documents.page.changes import change
from services.execution.documents.page.citations.citations import Citations
from services.execution.documents.page.formulas import Formulas

_MOST_SIGNS, _MOST_SECONDS = 500, 10.0  #: in one paragraph; for all of them
_ALERT = re.compile(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|\Z)", re.I)
_HEADING_ID = re.compile(r"\s*\{#([\w:.-]{1,100})[^{}\n]{0,200}\}\s*\Z")
_REFERENCE = re.compile(r"(?<![\w@])@((?:sec|fig|tbl)-[\w-]{1,100})")
_DEEPEST_IN_TOC = 3


@dataclass(frozen=True)
class Heading:
    level: int
    id: str
    text: str


@dataclass
class Prose:
    """What a document's prose has become."""

    html: str = ""
    headings: list[Heading] = field(default_factory=list)

    def toc(self) -> Iterator[Heading]:
        return (heading for heading in self.headings if heading.level <= _DEEPEST_IN_TOC)


def prose(
    source: str, flavour: str, labels: Mapping[str, str], formulas: Formulas, citations: Citations | None = None
) -> Prose:
    """``labels``: what else can be referred to, such as figures, by its id."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").enable("strikethrough")
    markdown.use(footnote_plugin, inline=False).use(
        dollarmath_plugin, allow_space=False, allow_digits=False, renderer=formulas
    )
    markdown.core.ruler.at("inline", _Inline())
    markdown.core.ruler.before("inline", "alerts", _alerts)
    if flavour == "stencila":
        markdown.inline.ruler.push("change", change)
    environment: dict[str, object] = {}
    tokens = markdown.parse(source, environment)
    made = Prose(headings=list(_headings(tokens)))
    known = {heading.id: heading.text for heading in made.headings} | dict(labels)
    for token in tokens:
        if token.type == "inline" and token.children:
            token.children = list(_referring(token.children, known))
            if citations is not None:
                token.children = list(_citing(token.children, citations))
    made.html = markdown.renderer.render(tokens, markdown.options, environment)
    return made


class _Inline:
    """Parses inline Markdown, but not in paragraphs with so many signs that it would take quadratic time."""

    def __init__(self) -> None:
        self._left = _MOST_SECONDS

    def __call__(self, state: StateCore) -> None:
        for token in state.tokens:
            if token.type != "inline" or token.children is None:
                continue
            if self._left < 0 or any(token.content.count(sign) > _MOST_SIGNS for sign in "[*_`<!~&{$"):
                token.children.append(Token("text", "", 0, content=token.content))
                continue
            began = time.monotonic()
            state.md.inline.parse(token.content, state.md, state.env, token.children)
            self._left -= time.monotonic() - began


def _alerts(state: StateCore) -> None:
    """A quotation that begins with ``[!NOTE]`` is a callout, as on GitHub."""
    for quote, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if quote.type != "blockquote_open" or paragraph.type != "paragraph_open" or inline.type != "inline":
            continue
        if match := _ALERT.match(inline.content):
            kind = match[1].lower()
            quote.attrSet("class", f"callout {kind}")
            inline.content = f"**{kind.capitalize()}**  \n{inline.content[match.end() :]}"


def _headings(tokens: Sequence[Token]) -> Iterator[Heading]:
    """Every heading, with an id of its own: the author's, or one made of its words."""
    taken: set[str] = set()
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open" or inline.type != "inline":
            continue
        given = _own_id(inline)
        text = "".join(
            child.content for child in inline.children or () if child.type in ("text", "code_inline")
        ).strip()
        id = _free(given or re.sub(r"[^\w]+", "-", text.lower()).strip("-")[:100] or "section", taken)
        opening.attrSet("id", id)
        yield Heading(int(opening.tag[1:]), id, text)


def _own_id(heading: Token) -> str:
    """The id at the end of a heading, which is taken off it."""
    last = heading.children[-1] if heading.children else None
    if last is None or last.type != "text" or (match := _HEADING_ID.search(last.content)) is None:
        return ""
    last.content = last.content[: match.start()]
    return match[1]


def _free(id: str, taken: set[str]) -> str:
    number, free = 1, id
    while free in taken:
        number += 1
        free = f"{id}-{number}"
    taken.add(free)
    return free


def _citing(children: Sequence[Token], citations: Citations) -> Iterator[Token]:
    """Citations as links to the list of works."""
    depth = 0
    for child in children:
        depth += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type == "text" and not depth and "@" in child.content:
            yield from citations.tokens(child.content)
        else:
            yield child


def _referring(children: Sequence[Token], known: Mapping[str, str]) -> Iterator[Token]:
    """``@fig-x`` and ``@sec-x`` as links; what is not known stays as it is."""
    depth = 0
    for child in children:
        depth += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type != "text" or depth or "@" not in child.content:
            yield child
            continue
        at = 0
        for match in _REFERENCE.finditer(child.content):
            if match[1] not in known:
                continue
            yield Token("text", "", 0, content=child.content[at : match.start()])
            yield Token("link_open", "a", 1, attrs={"href": f"#{match[1]}"})
            yield Token("text", "", 0, content=known[match[1]])
            yield Token("link_close", "a", -1)
            at = match.end()
        yield Token("text", "", 0, content=child.content[at:])
