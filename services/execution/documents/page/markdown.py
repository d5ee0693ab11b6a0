"""Prose as HTML: CommonMark with tables, footnotes, mathematics, callouts, ids of headings and references to them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.parser_inline import RuleFuncInlineType
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from mdit_py_plugins.attrs import attrs_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.subscript import sub_plugin
from mdit_py_plugins.superscript import superscript_plugin

from services.execution.documents.page.changes import change
from services.execution.documents.page.citations.citations import Citations
from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.labels import PREFIXES, Labels
from services.execution.documents.page.pandoc_lists import Lists, common_lists
from services.execution.documents.parse.notation import attributes

_MAX_SIGNS, _MAX_SECONDS = 500, 10.0  #: in one paragraph; for all of them
_ALERT = re.compile(r"\[!(NOTE|TIP|IMPORTANT|WARNING|CAUTION)\][ \t]*(?:\n|\Z)", re.I)
_HEADING_END = re.compile(r"(?:[#.:-]|[A-Za-z][\w-]{0,60}=)[^{}\n]{0,300}")
_ONE = rf"(-?)@((?:{PREFIXES}|{PREFIXES.title()})-[\w-]{{1,100}})"
_REFERENCE = re.compile(rf"(?<![\w@]){_ONE}")
_IN_BRACKETS = re.compile(rf"\[([^\[\]@]{{0,40}}{_ONE}(?:[^\[\]@]{{0,40}}{_ONE}){{0,9}}[^\[\]@]{{0,40}})\]")
_CAPTION = re.compile(r"(?:Table)?:[ \t]+(.*?)(?:\{([^{}]{0,500})\})?\Z", re.S)
_DEEPEST_IN_TOC = 3
_BOX = re.compile(r"\[([ xX])\][ \t]+")
_FORMULA = re.compile(r"[\\^_=+{}]")
_ROLE = re.compile(r"\{([A-Za-z][\w:-]{0,40})\}(`{1,3})([^`]{1,2000})\2")
_TAGS_OF_ROLES = {"sub": "sub", "sup": "sup", "subscript": "sub", "superscript": "sup", "kbd": "kbd", "abbr": "abbr"}
_MEANING = re.compile(r"([^()]{1,200}?)\s*\(([^()]{1,500})\)")
_TAGS_OF_ROLES |= {"code": "code", "strike": "del", "del": "del", "command": "code", "file": "code"}
_TAGS_OF_SPANS = {"mark": "mark", "underline": "u", "ul": "u", "kbd": "kbd"}
Picture = Callable[[str, str, str], str]  #: address, alternative text, width -> HTML


@dataclass(frozen=True)
class Heading:
    level: int
    id: str
    text: str
    number: str = ""
    listed: bool = True  #: in the table of contents

    @property
    def numbered(self) -> str:
        return f"{self.number} {self.text}".strip()


@dataclass(frozen=True)
class Reading:
    """How Markdown is read: its notation, and what its references and pictures lead to."""

    flavour: str
    labels: Labels
    formulas: Formulas
    citations: Citations | None = None
    picture: Picture = lambda address, alt, width: ""
    raw_html: bool = False  #: HTML counts as such; what comes out has to be cleaned
    numbered: bool = False  #: headings have numbers
    headings: bool = True  #: they have ids
    mark: str = ""  #: what the paragraphs begin with that stand for blocks


@dataclass
class Prose:
    """What a document's prose has become."""

    html: str = ""
    headings: list[Heading] = field(default_factory=list)
    unknown: dict[str, None] = field(default_factory=dict)  #: references that lead nowhere

    def toc(self) -> Iterator[Heading]:
        return (heading for heading in self.headings if heading.listed and heading.level <= _DEEPEST_IN_TOC)


def prose(source: str, reading: Reading) -> Prose:
    """Read Markdown as HTML; pictures, references and formulas by what ``reading`` says."""
    markdown = _reader(reading)
    environment: dict[str, object] = {}
    lists = common_lists(source) if reading.flavour == "quarto" else Lists(source)
    tokens = markdown.parse(lists.text, environment)
    for token in tokens:
        if token.type == "ordered_list_open" and token.map and (style := lists.styles.get(token.map[0])):
            token.attrSet(*(("class", "example") if style == "@" else ("type", style)))
    _tables(tokens, reading)
    made = Prose(headings=list(_headings(tokens, numbered=reading.numbered)) if reading.headings else [])
    _figures(tokens, reading)
    _plain_forms(tokens)
    known = {heading.id: _as_referred(heading, reading) for heading in made.headings} | reading.labels.known
    for token in tokens:
        if token.type == "inline" and token.children:
            _named_spans(token.children)
            token.children = list(_roles(_referring(token.children, known, made.unknown), reading, known))
            if reading.citations is not None:
                token.children = list(_citing(token.children, reading.citations))
            for child in token.children:
                if child.type == "image":
                    child.type, child.content = "html_inline", _picture(child, reading)
    made.html = markdown.renderer.render(tokens, markdown.options, environment)
    return made


def _reader(reading: Reading) -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": reading.raw_html}).enable("table").enable("strikethrough")
    markdown.use(footnote_plugin, inline=reading.flavour != "stencila").use(
        dollarmath_plugin, allow_space=False, allow_digits=False, renderer=reading.formulas
    )
    markdown.use(sub_plugin).use(superscript_plugin)
    markdown.core.ruler.at("inline", _Inline())
    markdown.core.ruler.before("inline", "alerts", _alerts)
    markdown.inline.ruler.before("escape", "tex", _tex(reading.formulas))
    if reading.flavour == "quarto":
        markdown.options.update(typographer=True, quotes="“”‘’")
        markdown.enable("smartquotes")
        markdown.core.ruler.after("inline", "dashes", _dashes)
    if reading.flavour == "stencila":
        markdown.inline.ruler.push("change", change)
    else:
        markdown.use(attrs_plugin, spans=True).use(deflist_plugin)
        markdown.inline.ruler.before("backticks", "role", _role)
    return markdown


def _dashes(state: StateCore) -> None:
    """Write ``--``, ``---`` and ``...`` as Pandoc does."""
    for token in state.tokens:
        for child in token.children or () if token.type == "inline" else ():
            if child.type == "text":
                text = child.content.replace("---", "—").replace("--", "–")
                child.content = text.replace("...", "…")


def _named_spans(children: Sequence[Token]) -> None:
    """Make elements of the spans whose class Pandoc knows."""
    open_tags: list[str] = []
    for child in children:
        if child.type == "span_open":
            names = str(child.attrGet("class") or "").split()
            open_tags.append(next((_TAGS_OF_SPANS[name] for name in names if name in _TAGS_OF_SPANS), "span"))
            if open_tags[-1] != "span":
                child.attrs.pop("class")
        if child.type in ("span_open", "span_close"):
            child.tag = open_tags[-1] if open_tags else child.tag
        if child.type == "span_close" and open_tags:
            open_tags.pop()


def _tex(formulas: Formulas) -> RuleFuncInlineType:
    r"""Return a rule for ``\(...\)`` and ``\[...\]``."""

    open_in: dict[str, str] = {}  #: opening -> the text in which it is never closed from here on

    def rule(state: StateInline, silent: bool) -> bool:
        opening = state.src[state.pos : state.pos + 2]
        if opening not in ("\\(", "\\["):
            return False
        if open_in.get(opening) == state.src:
            return False
        end = state.src.find("\\)" if opening == "\\(" else "\\]", state.pos + 2, state.posMax)
        if end < 0:
            open_in[opening] = state.src
        content = state.src[state.pos + 2 : end]
        if end < 0 or not content.strip() or (opening == "\\[" and not _FORMULA.search(content)):
            return False  # ``\[1\]`` is a text between brackets
        if not silent:
            token = state.push("html_inline", "", 0)
            token.content = formulas(content.strip(), {"display_mode": opening == "\\["})
        state.pos = end + 2
        return True

    return rule


def _role(state: StateInline, silent: bool) -> bool:
    """Return a rule for MyST's ``{name}`text` ``."""
    if state.src[state.pos] != "{" or (match := _ROLE.match(state.src, state.pos, state.posMax)) is None:
        return False
    if not silent:
        token = state.push("role", "", 0)
        token.info, token.content = match[1].lower(), match[3].strip()
    state.pos = match.end()
    return True


def _roles(children: Iterable[Token], reading: Reading, known: Mapping[str, str]) -> Iterator[Token]:
    """Roles as what they say, and links without words with those of what they lead to."""
    target = ""
    for child in children:
        if child.type == "link_close" and target in known:
            yield Token("text", "", 0, content=known[target])
        target = str(child.attrGet("href"))[1:] if child.type == "link_open" else ""
        if child.type == "role":
            yield from _of_role(child.info, child.content, reading, known)
        else:
            yield child


def _of_role(name: str, text: str, reading: Reading, known: Mapping[str, str]) -> Iterator[Token]:
    titled = re.fullmatch(r"(.*?)\s*<([^<>]+)>", text, re.S)
    words, target = (titled[1], titled[2]) if titled else ("", text)
    if name == "math":
        yield Token("html_inline", "", 0, content=reading.formulas(text, {"display_mode": False}))
    elif name in ("ref", "numref", "eq", "prf:ref"):
        shown = words.replace("%s", known.get(target, target).rpartition(" ")[2]) or known.get(target, target)
        yield from _link(target, f"({known[target].rpartition(' ')[2]})" if name == "eq" and target in known else shown)
    elif name.startswith("cite"):
        together = "; ".join(f"@{key.strip()}" for key in text.split(","))
        bare = name in ("cite:t", "cite:ts", "cite:alt")
        yield Token("text", "", 0, content=together if bare else f"[{together}]")
    elif name in _TAGS_OF_ROLES:
        tag = _TAGS_OF_ROLES[name]
        meaning = _MEANING.fullmatch(text) if tag == "abbr" else None
        words, title = (meaning[1], {"title": meaning[2]}) if meaning else (words, {})
        yield Token(f"{name}_open", tag, 1, attrs={**title})
        yield Token("text", "", 0, content=words or text)
        yield Token(f"{name}_close", tag, -1)
    else:
        yield Token("text", "", 0, content=words or target)


def _link(id: str, text: str) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs={"href": f"#{id}"})
    yield Token("text", "", 0, content=text)
    yield Token("link_close", "a", -1)


def _as_referred(heading: Heading, reading: Reading) -> str:
    return f"{reading.labels.words['sec']} {heading.number}" if heading.number else heading.text


def _picture(image: Token, reading: Reading) -> str:
    alt = image.attrGet("fig-alt") or image.attrGet("alt") or image.content
    return reading.picture(str(image.attrGet("src")), str(alt), str(image.attrGet("width") or ""))


def _plain_forms(tokens: Sequence[Token]) -> None:
    """Write the sides of a table's columns, and boxes of lists, in forms that stay in a clean page."""
    for number, token in enumerate(tokens):
        if token.type in ("th_open", "td_open") and (side := str(token.attrs.pop("style", "")).partition(":")[2]):
            token.attrSet("align", side)
        if token.type != "inline" or number < 2 or tokens[number - 2].type != "list_item_open":
            continue
        first = (token.children or [token])[0]
        if first.type == "text" and (box := _BOX.match(first.content)):
            first.content = f"{'☐' if box[1] == ' ' else '☑'} {first.content[box.end() :]}"


def _figures(tokens: list[Token], reading: Reading) -> None:
    """Make a figure of each paragraph that is only a picture with a caption or a label."""
    for at in range(len(tokens) - 2):
        inline = tokens[at + 1]
        if tokens[at].type != "paragraph_open" or inline.type != "inline" or len(inline.children or ()) != 1:
            continue
        image = (inline.children or [inline])[0]
        if image.type != "image":
            continue
        id, caption = str(image.attrGet("id") or ""), image.children or []
        if not id and (reading.flavour == "stencila" or not image.content):
            continue
        number = reading.labels.lead(id, captioned=bool(caption)) if id else ""
        tokens[at].type, tokens[at].tag, tokens[at].hidden = "figure_open", "figure", False
        if id:
            tokens[at].attrSet("id", id)
        tokens[at + 2].type, tokens[at + 2].tag, tokens[at + 2].hidden = "figure_close", "figure", False
        opening, closing = Token("figcaption_open", "figcaption", 1), Token("figcaption_close", "figcaption", -1)
        said = [Token("text", "", 0, content=number)] if number else []
        inline.children = [image, opening, *said, *caption, closing] if number or caption else [image]


def _tables(tokens: list[Token], reading: Reading) -> None:
    """Make a figure of each table that has a caption: a paragraph next to it that begins with a colon."""
    at = 0
    while at < len(tokens):
        if tokens[at].type != "table_open" or tokens[at].level:
            at += 1
            continue
        end = next(number for number in range(at, len(tokens)) if tokens[number].type == "table_close")
        after, before = _caption_at(tokens, end + 1), _caption_at(tokens, at - 3)
        caption, where = (after, end + 1) if after is not None else (before, at - 3)
        if caption is None:
            at = end + 1
            continue
        paragraph = tokens[where : where + 3]
        del tokens[where : where + 3]
        begin, end = (at, end) if where > at else (at - 3, end - 3)
        attributes_ = attributes(caption[2] or "")
        id = attributes_.get("id", "")
        paragraph[1].content = caption[1]
        number = reading.labels.lead(id, "tbl", captioned=bool(caption[1])) if id else ""
        opening, closing = (
            Token("figure_open", "figure", 1, block=True),
            Token("figure_close", "figure", -1, block=True),
        )
        if id:
            opening.attrSet("id", id)
        paragraph[0].type, paragraph[0].tag, paragraph[2].type, paragraph[2].tag = (
            "figcaption_open", "figcaption", "figcaption_close", "figcaption",
        )  # fmt: skip
        children = paragraph[1].children or []
        _take_off(children, caption)
        if number:
            children.insert(0, Token("text", "", 0, content=number))
        paragraph[1].children = children
        tokens[begin : end + 1] = [opening, *paragraph, *tokens[begin : end + 1], closing]
        at = end + 6


def _caption_at(tokens: Sequence[Token], at: int) -> re.Match[str] | None:
    if not 0 <= at < len(tokens) - 2 or tokens[at].type != "paragraph_open" or tokens[at + 1].type != "inline":
        return None
    return _CAPTION.fullmatch(tokens[at + 1].content.strip())


def _take_off(children: list[Token], caption: re.Match[str]) -> None:
    """Take the colon and the braces off the parts of a caption."""
    texts = [child for child in children if child.type == "text"]
    if texts:
        texts[0].content = re.sub(r"\A(?:Table)?:[ \t]+", "", texts[0].content)
        if caption[2]:
            texts[-1].content = texts[-1].content.rpartition("{")[0].rstrip()


class _Inline:
    """Parses inline Markdown, but not in paragraphs with so many signs that it would take quadratic time."""

    def __init__(self) -> None:
        self._left = _MAX_SECONDS

    def __call__(self, state: StateCore) -> None:
        for token in state.tokens:
            if token.type != "inline" or token.children is None:
                continue
            if self._left < 0 or any(token.content.count(sign) > _MAX_SIGNS for sign in "[*_`<!~&{$"):
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


def _headings(tokens: Sequence[Token], *, numbered: bool) -> Iterator[Heading]:
    """Yield every heading, with an id of its own: the author's, or one made of its words."""
    taken: set[str] = set()
    top = min((int(token.tag[1:]) for token in tokens if token.type == "heading_open"), default=1)
    counts = [0] * 7
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open" or inline.type != "inline":
            continue
        given = _own_attributes(inline)
        text = "".join(
            child.content for child in inline.children or () if child.type in ("text", "code_inline")
        ).strip()
        id = _free(given.get("id") or re.sub(r"[^\w]+", "-", text.lower()).strip("-")[:100] or "section", taken)
        opening.attrSet("id", id)
        level, number = int(opening.tag[1:]), ""
        if numbered and not {".unnumbered", ".appendix", "-"} & given.keys():
            counts[level] += 1
            counts[level + 1 :] = [0] * (6 - level)
            number = ".".join(str(count) for count in counts[top : level + 1])
            inline.children = [Token("text", "", 0, content=f"{number} "), *(inline.children or ())]
        yield Heading(level, id, text, number, ".unlisted" not in given)


def _own_attributes(heading: Token) -> dict[str, str]:
    """Return the attributes at the end of a heading, which are taken off it."""
    last = heading.children[-1] if heading.children else None
    text = last.content.rstrip() if last is not None and last.type == "text" else ""
    before, brace, inner = text.rpartition("{")
    if last is None or not brace or not inner.endswith("}") or not _HEADING_END.fullmatch(inner[:-1]):
        return {}
    last.content = before.rstrip()
    return attributes(inner[:-1])


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


def _referring(children: Sequence[Token], known: Mapping[str, str], unknown: dict[str, None]) -> Iterator[Token]:
    """``@fig-x`` and ``@sec-x`` as links; what is not known stays as it is."""
    depth = 0
    for child in children:
        depth += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type != "text" or depth or "@" not in child.content:
            yield child
            continue
        text = _IN_BRACKETS.sub(lambda match: match[1], child.content)
        at = 0
        for match in _REFERENCE.finditer(text):
            id = match[2][0].lower() + match[2][1:]
            if id not in known:
                unknown[id] = None
                continue
            yield Token("text", "", 0, content=text[at : match.start()])
            yield from _link(id, known[id].rpartition(" ")[2] if match[1] else known[id])
            at = match.end()
        yield Token("text", "", 0, content=text[at:])
