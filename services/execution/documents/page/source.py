"""A document's lines as Markdown for its page: blocks, directives and formulas give way to marks of their HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from services.execution.documents.page.directives import CALLOUTS, TITLED, Directive, directives, holds_markdown
from services.execution.documents.page.formulas import Formulas
from services.execution.documents.page.labels import NUMBERED, Labels, kind_of
from services.execution.documents.page.layout import columns_of
from services.execution.documents.page.listed_tables import table_of_columns, table_of_csv, table_of_grid, table_of_list

_MATH = ("math", "latex", "tex", "asciimath", "mathml")
_DROPPED = frozenset(
    "toctree tableofcontents contents index eval-rst only comment code-cell autosummary list-of-figures"  # noqa: SIM905
    " doctest testcode testoutput".split()
)
_PROOFS = {
    "theorem": "thm", "lemma": "lem", "corollary": "cor", "proposition": "prp", "conjecture": "cnj",
    "definition": "def", "example": "exm", "exercise": "exr",
}  # fmt: skip
_UNNUMBERED = ("proof", "remark", "solution")
_CODE = ("code", "code-block", "sourcecode", "literalinclude", "prompt", "highlight")
_ENVIRONMENT = re.compile(r" {0,3}\\begin\{((?:align|equation|gather|multline|eqnarray|alignat|flalign)\*?)\}")
_EQUATION_LABEL = re.compile(r"(?:\{#(eq-[\w-]{1,100})[^{}]{0,300}\}|\(([\w:-]{1,100})\))?\Z")
_TEX_LABEL = re.compile(r"\\label\{([\w:-]{1,100})\}")
_LABELLED = re.compile(rf"\{{[^{{}}\n]{{0,300}}#((?:{'|'.join(NUMBERED)})-[\w-]{{1,100}})")
_TARGET = re.compile(r"\(([\w:.-]{1,100})\)=\s*\Z")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)\Z", re.S)
_CAPTION = re.compile(r"(?:Table)?:[ \t]+\S")
_GRID_CAPTION = re.compile(r"(?:Table)?:[ \t]+([^{}]{1,1000})(?:\{#([\w:-]{1,100})[^{}]{0,200}\})?")
_LINE_BLOCK = re.compile(r"\| ([ ]*)([^|\n]*)\n?")
_SHORTCODE = re.compile(r"\{\{<[ \t]{0,9}(\w[\w-]{0,40})\b([^<>\n]{0,500})>\}\}")
_SUBSTITUTION = re.compile(r"\{\{[ \t]{0,9}([A-Za-z_][\w.-]{0,60})[ \t]{0,9}\}\}")
_PERCENT = re.compile(r"(\{[^{}\n]{0,300}?\b(?:width|height)=)(\d{1,4}(?:\.\d+)?%)")
_IN_BRACES = re.compile(r"(?<=[)\]])\{[^{}\n]{0,500}\}")  #: attributes of a picture, a link or a span
_SINGLE_QUOTED = re.compile(r"='([^'\"]*)'")
_BRACES = re.compile(r"[ \t]*\{[^{}\n]*\}[ \t]*")
_HIDDEN = ("hidden", "notes")
_DEFINITIONS = ("\\newcommand", "\\renewcommand", "\\providecommand", "\\def\\", "\\DeclareMathOperator")
_MAX_FORMULA_LINES = 200


@dataclass
class SourceWriter:
    """Writes the Markdown of the lines of one document, and those of what it includes."""

    flavour: str
    labels: Labels
    formulas: Formulas
    mark: Callable[[str, str], str]  #: HTML and the prefix of its lines -> Markdown placeholder for it
    markdown: Callable[[str], str]  #: separate Markdown, such as captions -> HTML
    picture: Callable[[str, str, str], str]  #: address, alternative text, width -> HTML
    file: Callable[[str], str | None]  #: path -> text of a file of the document
    value_of: Callable[[str], str]  #: name -> what the front matter says
    _closings: dict[int, str] = field(default_factory=dict)
    _skipped: dict[int, int] = field(default_factory=dict)
    _tabs: set[int] = field(default_factory=set)  #: lines of headings that are the titles of tabs

    _no_grid: int = 0  #: before this line no table is drawn that is not read yet

    def write(
        self,
        lines: Sequence[str],
        inside: Sequence[bool],
        first: int,
        block: Callable[[int], tuple[str, str, int] | None],
        line: Callable[[int], str],
        comments: dict[int, int],
    ) -> str:
        """``block``: what stands at a line: HTML or Markdown, its prefix, and the line after it."""
        by_line = directives(lines, inside, self.flavour)
        outer = (self._closings, self._skipped, self._tabs, self._no_grid)
        self._closings, self._skipped, self._tabs, self._no_grid = {}, {}, set(), 0
        text: list[str] = []
        at = first
        while at < len(lines):
            if at in comments or at in self._skipped:
                at = comments.get(at) or self._skipped[at]
            elif (made := block(at)) is not None:
                text.append(made[0])
                at = max(made[2], at + 1)
            elif at in self._closings:
                text.append(self.mark(self._closings[at], ""))
                at += 1
            elif at in by_line:
                written, at = self._directive(by_line[at], lines, by_line)
                text.append(written)
            elif lines[at].startswith("+-") and (drawn := self._grid(lines, at)) is not None:
                written, at = drawn
                text.append(written)
            elif "--" in lines[min(at + 1, len(lines) - 1)] and (ruled := self._simple(lines, at)) is not None:
                written, at = ruled
                text.append(written)
            elif (formula := self._formula(lines, at)) is not None:
                written, at = formula
                text.append(written)
            else:
                text.append(self._plain(lines, at, line))
                at += 1
        self._closings, self._skipped, self._tabs, self._no_grid = outer
        return "".join(text)

    # -- lines ---------------------------------------------------------------------------------------------------------

    def _plain(self, lines: Sequence[str], at: int, line: Callable[[int], str]) -> str:
        bare = lines[at].strip()
        if bare.startswith(":::") or (bare == ". . ." and self.flavour == "quarto"):  # the pause of a slide
            return "\n"
        if bare.startswith(_DEFINITIONS):
            return self._definition(lines, at, line)
        if self.flavour == "myst" and (own := self._of_myst(lines, at, line)) is not None:
            return own
        for match in _LABELLED.finditer(bare) if "{" in bare else ():
            self.labels.number(match[1])
        written = line(at)
        if at in self._tabs:
            return f"{written.rstrip()} {{.unnumbered .unlisted}}\n"
        if "%" in bare and "{" in bare:
            written = _PERCENT.sub(r'\1"\2"', written)
        if "{" in bare and "='" in bare:
            written = _IN_BRACES.sub(lambda braces: _SINGLE_QUOTED.sub(r'="\1"', braces[0]), written)
        if "{{<" in written:
            written = _SHORTCODE.sub(self._shortcode, written)
        if _CAPTION.match(bare) and at and lines[at - 1].lstrip().startswith("|"):
            return f"\n{written}"
        return written if self.flavour != "quarto" else _line_block(written, lines[at + 1 : at + 2])

    def _definition(self, lines: Sequence[str], at: int, line: Callable[[int], str]) -> str:
        """Return a line that defines macros of formulas, without them; a definition may take several lines."""
        end = at
        while end < min(len(lines), at + _MAX_FORMULA_LINES):
            end += 1
            rest = self.formulas.macros.without_definitions("".join(lines[at:end]))
            if not rest.strip():
                self._skipped |= {number: number + 1 for number in range(at + 1, end)}
                return "\n"
            if not lines[end : end + 1] or not lines[end].strip():
                break
        return self.formulas.macros.without_definitions(line(at))

    def _of_myst(self, lines: Sequence[str], at: int, line: Callable[[int], str]) -> str | None:
        """Return a line of MyST that is more than Markdown."""
        bare = lines[at].strip()
        if bare.startswith(("+++", "%")):
            return "\n"
        if target := _TARGET.match(bare):
            return self._target(lines, at, target[1])
        return _SUBSTITUTION.sub(self._substitution, line(at)) if "{{" in bare else None

    def _target(self, lines: Sequence[str], at: int, label: str) -> str:
        """A name for what follows: a heading takes it as its id."""
        following = next((number for number in range(at + 1, min(len(lines), at + 4)) if lines[number].strip()), None)
        if following is not None and (heading := _heading(lines[following])) is not None:
            self._skipped[following] = following + 1
            return f"\n{heading[0]} {heading[1]} {{#{label}}}\n"
        if following is not None and (formula := self._formula(lines, following, label)) is not None:
            self._skipped[following] = formula[1]
            return formula[0]
        return self.mark(f'<a id="{html.escape(label)}"></a>', "")

    def _substitution(self, match: re.Match[str]) -> str:
        """Return the value that the front matter of MyST gives a name; a name without one stays as it is written."""
        return self.value_of(f"substitutions.{match[1]}") or match[0]

    def _shortcode(self, match: re.Match[str]) -> str:
        name, rest = match[1], match[2].strip()
        if name == "meta":
            return self.value_of(rest.strip("\"'"))
        if name in ("video", "embed"):
            return f"<{rest.split()[0]}>" if rest.startswith("http") else ""
        if name == "kbd":
            keys = rest.split()[0] if rest else ""
            return f"<kbd>{html.escape(keys)}</kbd>" if self.flavour != "stencila" else keys
        if name == "pagebreak" and self.flavour != "stencila":
            return '<hr class="pagebreak">'
        return "" if name in ("pagebreak", "fa", "placeholder", "version") else match[0]

    def _grid(self, lines: Sequence[str], at: int) -> tuple[str, int] | None:
        """Return a table that is drawn as a grid, with the caption below it."""
        if self.flavour == "stencila" or at < self._no_grid:
            return None
        table, end = table_of_grid(lines, at, self.markdown)
        if not table:
            self._no_grid = end
            return None
        return self._with_caption(table, lines, end)

    def _simple(self, lines: Sequence[str], at: int) -> tuple[str, int] | None:
        """Return a table whose columns lines of dashes show, with the caption below it."""
        if self.flavour == "stencila" or (at and lines[at - 1].strip()):
            return None
        table, end = table_of_columns(lines, at, self.markdown)
        return self._with_caption(table, lines, end) if table else None

    def _with_caption(self, table: str, lines: Sequence[str], end: int) -> tuple[str, int]:
        below = next((number for number in range(end, min(len(lines), end + 2)) if lines[number].strip()), None)
        caption = _GRID_CAPTION.fullmatch(lines[below].strip()) if below is not None else None
        if below is None or caption is None:
            return self.mark(table, ""), end
        return self.mark(self._captioned(table, caption[2] or "", caption[1].strip(), "tbl"), ""), below + 1

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _formula(self, lines: Sequence[str], at: int, name: str = "") -> tuple[str, int] | None:
        """Return a formula of its own lines: ``$$``, ``\\[`` or an environment of LaTeX; ``name``: its label."""
        bare = lines[at].strip()
        if environment := _ENVIRONMENT.match(lines[at]):
            closing, keeps = f"\\end{{{environment[1]}}}", True
        elif bare.startswith("$$"):
            closing, keeps = "$$", False
        elif bare.startswith("\\["):
            closing, keeps = "\\]", False
        else:
            return None
        if lines[at][:1] in " \t":
            return None  # it may belong to an item of a list
        begin = 0 if keeps else 2
        body = ""
        for end in range(at, min(len(lines), at + _MAX_FORMULA_LINES)):
            rest = lines[end].strip()[begin:] if end == at else lines[end].strip()
            inner, mark, after = rest.partition(closing)
            if not mark:
                body += f"{rest}\n"
                continue
            label = _EQUATION_LABEL.match(after.strip())
            if label is None or (end == at and not inner.strip()):
                return None
            body += inner + (mark if keeps else "")
            return self.equation(body, label[1] or label[2] or name), end + 1
        return None

    def equation(self, source: str, label: str = "") -> str:
        """Return the mark of a displayed formula, numbered where it has a label."""
        if not label and (own := _TEX_LABEL.search(source)):
            label = own[1]
        formula = self.formulas(_TEX_LABEL.sub("", source).strip(), {"display_mode": True})
        if not label:
            return self.mark(f"<p>{formula}</p>", "")
        number = self.labels.number(label, "eq").rpartition(" ")[2]
        shown = f'<section class="equation" id="{html.escape(label)}">{formula}<p>({number})</p></section>'
        return self.mark(shown, "")

    # -- directives ----------------------------------------------------------------------------------------------------

    def _directive(  # noqa: C901, PLR0911 - one for each kind of block
        self, each: Directive, lines: Sequence[str], by_line: dict[int, Directive]
    ) -> tuple[str, int]:
        """Return what opens a block that goes on, or a whole block; and the line that comes next."""
        content = lines[each.first : each.end]
        if each.name in ("code", "raw", "math") or each.name in _CODE or each.name in _MATH:
            return self._code(each, lines, content), each.end + 1
        if each.name == "div":
            return self._div(each, lines, by_line)
        if each.name in ("figure", "image"):
            return self._figure(each, content), each.end + 1
        if each.name in ("list-table", "csv-table"):
            heads, rows = each.options.get("header-rows", "0"), "".join(content)
            if header := each.options.get("header", ""):
                heads, rows = "1", f"{header}\n{rows}"
            table = (table_of_list if each.name == "list-table" else table_of_csv)(rows, heads, self.markdown)
            return self.mark(self._captioned(table, each.id, each.argument, "tbl"), ""), each.end + 1
        if each.name == "table":
            caption = self._caption(each.id, each.argument, "tbl")
            self._closings[each.end] = "</figure>"
            return self.mark(f'<figure id="{html.escape(each.id)}">{caption}', ""), each.first
        if each.name == "bibliography":
            return self.mark('<a id="refs"></a>', ""), each.end + 1
        if each.name == "glossary":
            return _glossary(content), each.end + 1
        if each.name in _DROPPED:
            return "\n", each.end + 1
        if holds_markdown(each.name):
            return self._titled(each)
        if each.sign == ":":
            return "\n", each.first
        opening = _BRACES.sub("", lines[each.begin]).replace(each.argument or "\0", "", 1)
        return "".join([opening, *content, lines[each.end]]), each.end + 1

    def _titled(self, each: Directive) -> tuple[str, int]:  # noqa: PLR0911 - one for each kind of block
        kind = CALLOUTS.get(each.name)
        if kind is not None:
            named = each.options.get("class", "").split()
            kind = next((CALLOUTS[word] for word in named if word in CALLOUTS), kind)
            folded = each.options.get("open", "") != "true" if "dropdown" in named or "open" in each.options else None
            self._closings[each.end] = "</aside>" if folded is None else "</details></aside>"
            return self._callout(
                kind, each.argument, folded=None if folded is None else str(folded).lower()
            ), each.first
        if each.name == "solution":
            return self._solution(each), each.first
        if each.name in ("dropdown", "details"):
            self._closings[each.end] = "</details>"
            return self.mark(f"<details><summary>{self._inline(each.argument)}</summary>", ""), each.first
        if each.name in _PROOFS and each.id:
            number = self.labels.number(each.id, _PROOFS[each.name])
            title = f"{number} ({self._inline(each.argument)})" if each.argument else number
            self._closings[each.end] = "</section>"
            opening = f'<section class="theorem" id="{html.escape(each.id)}"><p class="callout-title">{title}</p>'
            return self.mark(opening, ""), each.first
        if each.name in ("margin", "aside", "sidebar", "topic") or (each.name in TITLED and each.name != "tab-item"):
            self._closings[each.end] = "</aside>"
            title = f'<p class="callout-title">{self._inline(each.argument)}</p>' if each.argument else ""
            if not title and each.name in TITLED:
                title = f'<p class="callout-title">{each.name.capitalize()}</p>'
            return self.mark(f'<aside class="callout">{title}', ""), each.first
        if each.name in ("epigraph", "pull-quote", "blockquote"):
            self._closings[each.end] = "</blockquote>"
            return self.mark("<blockquote>", ""), each.first
        self._skipped[each.end] = each.end + 1
        if each.argument and each.name == "tab-item":
            return self.mark(f'<p class="tab">{self._inline(each.argument)}</p>', ""), each.first
        return "\n", each.first

    def _solution(self, each: Directive) -> str:
        """Return what opens the solution of the exercise whose label it names."""
        exercise = self.labels.known.get(each.argument)
        title = f"Solution to {exercise}" if exercise else self._inline(each.argument) or "Solution"
        if "dropdown" in each.options.get("class", "").split():
            self._closings[each.end] = "</details>"
            return self.mark(f"<details><summary>{title}</summary>", "")
        self._closings[each.end] = "</section>"
        return self.mark(f'<section><p class="callout-title">{title}</p>', "")

    def _callout(self, kind: str, title: str, *, titled: bool = True, folded: str | None = None) -> str:
        """``folded``: whether the callout is closed at first, if it can be (``true`` or ``false``)."""
        shown = self._inline(title) if title else html.escape(self.labels.words[kind]) if titled or folded else ""
        heading = f'<p class="callout-title">{shown}</p>' if shown else ""
        if folded is not None:
            heading = f"<details{'' if folded == 'true' else ' open'}><summary>{shown}</summary>"
        return self.mark(f'<aside class="callout {kind}">{heading}', "")

    def _inline(self, text: str) -> str:
        """Markdown of one line, without the paragraph around it."""
        made = self.markdown(text).strip()
        whole = re.fullmatch(r"<p>(.*)</p>", made, re.S)
        return whole[1] if whole and "<p>" not in whole[1] else made

    def _code(self, each: Directive, lines: Sequence[str], content: Sequence[str]) -> str:
        if each.name == "math" or (each.name == "code" and each.argument in _MATH and self.flavour != "quarto"):
            body = (
                "".join(content) if each.name != "math" or not each.argument else f"{each.argument}\n{''.join(content)}"
            )
            return self.equation(body, each.id)
        if each.name == "raw":
            return self.mark(f"<section>{''.join(content)}</section>", "") if each.argument == "html" else "\n"
        text = "".join(content)
        if each.name == "literalinclude":
            text = self.file(each.argument) or ""
        if each.name == "code" and not each.options:
            opening = _BRACES.sub(lambda _braces: each.argument, lines[each.begin])
            return "".join([opening, *lines[each.first : each.end + 1]])
        caption = each.options.get("lst-cap") or each.options.get("caption") or ""
        shown = f"<pre><code>{html.escape(text)}</code></pre>"
        if filename := each.options.get("filename"):
            shown = f"<p><code>{html.escape(filename)}</code></p>{shown}"
        return self.mark(self._captioned(shown, each.id, caption, "lst") if caption or each.id else shown, "")

    def _figure(self, each: Directive, content: Sequence[str]) -> str:
        alt = each.options.get("alt", "")
        shown = self.picture(each.argument, alt, each.options.get("width", ""))
        caption = "".join(content).strip()
        if each.name == "image":
            return self.mark(f"<p>{shown}</p>", "")
        return self.mark(self._captioned(shown, each.id, caption, "fig", below=True), "")

    def _captioned(self, shown: str, id: str, caption: str, kind: str, *, below: bool = False) -> str:
        figcaption = self._caption(id, caption, kind)
        body = shown + figcaption if below else figcaption + shown
        return f'<figure id="{html.escape(id)}">{body}</figure>'

    def _caption(self, id: str, caption: str, kind: str) -> str:
        text = self._inline(caption) if caption else ""
        number = self.labels.lead(id, kind_of(id) or kind, captioned=bool(text)) if id else ""
        figcaption = f"{number}{text}"
        return f"<figcaption>{figcaption}</figcaption>" if figcaption else ""

    # -- divs ----------------------------------------------------------------------------------------------------------

    def _div(  # noqa: PLR0911 - one for each kind of div
        self, each: Directive, lines: Sequence[str], by_line: dict[int, Directive]
    ) -> tuple[str, int]:
        if _is_hidden(each):
            return "\n", each.end + 1
        callout = next((name[8:] for name in each.classes if name.startswith("callout-")), None)
        if callout is not None:
            return self._callout_div(each, lines, callout if callout in CALLOUTS else "note")
        id = each.options.get("id", "")
        kind = kind_of(id)
        if kind in ("fig", "tbl", "lst"):
            return self._figure_div(each, lines, by_line, id, kind)
        if kind is not None and kind != "eq":
            return self._theorem(each, lines, id)
        if "panel-tabset" in each.classes:
            titles = {at: mark for at in range(each.first, each.end) if (mark := _heading(lines[at])) is not None}
            top = min((len(mark) for mark, _ in titles.values()), default=0)
            self._tabs |= {at for at, (mark, words) in titles.items() if len(mark) == top and "{" not in words}
        if (word := next((name for name in each.classes if name in _UNNUMBERED), None)) is not None:
            self._closings[each.end] = "</section>"
            return self.mark(f'<section class="theorem"><p><em>{word.capitalize()}.</em></p>', ""), each.first
        if "aside" in each.classes or "column-margin" in each.classes:
            self._closings[each.end] = "</aside>"
            return self.mark('<aside class="callout">', ""), each.first
        columns = 1 if "columns" in each.classes else columns_of(each.options)
        if columns or "column" in each.classes:
            self._closings[each.end] = "</section>"
            return self.mark(f'<section class="grid columns-{columns}">' if columns else "<section>", ""), each.first
        if id:
            return self.mark(f'<a id="{html.escape(id)}"></a>', ""), each.first
        return "\n", each.first

    def _callout_div(self, each: Directive, lines: Sequence[str], kind: str) -> tuple[str, int]:
        title, first = each.options.get("title", ""), each.first
        if not title and (heading := self._leading_heading(each, lines)) is not None:
            title, first = heading
        folded = each.options.get("collapse")
        self._closings[each.end] = "</aside>" if folded is None else "</details></aside>"
        plain = each.options.get("appearance") in ("simple", "minimal")  # without a title of its own
        return self._callout(CALLOUTS[kind], title, titled=not plain, folded=folded), first

    def _leading_heading(self, each: Directive, lines: Sequence[str]) -> tuple[str, int] | None:
        at = next((number for number in range(each.first, each.end) if lines[number].strip()), each.end)
        heading = _heading(lines[at]) if at < each.end else None
        return None if heading is None else (heading[1], at + 1)

    def _theorem(self, each: Directive, lines: Sequence[str], id: str) -> tuple[str, int]:
        number, first = self.labels.number(id), each.first
        title = each.options.get("name", "")
        if not title and (heading := self._leading_heading(each, lines)) is not None:
            title, first = heading
        shown = f"{number} ({self._inline(title)})" if title else number
        self._closings[each.end] = "</section>"
        opening = f'<section class="theorem" id="{html.escape(id)}"><p class="callout-title">{shown}</p>'
        return self.mark(opening, ""), first

    def _figure_div(
        self, each: Directive, lines: Sequence[str], by_line: dict[int, Directive], id: str, kind: str
    ) -> tuple[str, int]:
        """The last paragraph is the caption, unless an option is."""
        caption = each.options.get(f"{kind}-cap", "")
        end = each.end
        while end > each.first and not lines[end - 1].strip():
            end -= 1
        begin = end
        while begin > each.first and lines[begin - 1].strip():
            begin -= 1
        last = "".join(lines[begin:end])
        is_text = begin < end and not last.lstrip().startswith(("!", "|", "`", ":::", "~~~", "<"))
        inner = (by_line[at] for at in range(each.first, begin + 1) if at in by_line)
        if not caption and is_text and not any(other.begin <= begin <= other.end for other in inner):
            caption = last
            self._skipped[begin] = end
        figcaption = self._caption(id, caption, kind)
        for number, part in enumerate(
            match[1] for line in lines[each.first : end] for match in _LABELLED.finditer(line)
        ):
            if kind_of(part) == kind:
                self.labels.part(part, id, number)
        columns = columns_of(each.options)
        grid, end_of_grid = (f'<section class="grid columns-{columns}">', "</section>") if columns else ("", "")
        self._closings[each.end] = f"{end_of_grid}{'' if kind == 'tbl' else figcaption}</figure>"
        return self.mark(f'<figure id="{html.escape(id)}">{figcaption if kind == "tbl" else ""}{grid}', ""), each.first


def _glossary(content: Sequence[str]) -> str:
    """Return terms, each with the indented lines below it, as a list of definitions."""
    made, begins = ["\n"], False
    for line in content:
        if line.strip() and not line[:1].isspace():
            made.append(f"\n{line.strip()}\n")
            begins = True
        else:
            made.append(f"{':   ' if begins and line.strip() else '    '}{line.strip()}\n")
            begins = begins and not line.strip()
    return "".join([*made, "\n"])


def _line_block(line: str, following: Sequence[str]) -> str:
    """Return a line that begins with a bar, as those of a poem, with its indent and its end."""
    row = _LINE_BLOCK.fullmatch(line)
    if row is None:
        return line
    goes_on = bool(following) and _LINE_BLOCK.fullmatch(following[0]) is not None
    return "\u00a0" * len(row[1]) + row[2] + ("\\\n" if goes_on else "\n")


def _heading(line: str) -> tuple[str, str] | None:
    """Return the marker and the words of a heading."""
    match = _HEADING.match(line.rstrip())
    return None if match is None else (match[1], match[2].rstrip("#").rstrip())


def _is_hidden(each: Directive) -> bool:
    """Return whether the author hides a part, or shows it only in formats other than a page."""
    if any(name in _HIDDEN for name in each.classes):
        return True
    wanted, unless = each.options.get("when-format"), each.options.get("unless-format")
    in_page = _of_page(wanted) if wanted else not _of_page(unless) if unless else True
    if "content-visible" in each.classes:
        return not in_page
    return "content-hidden" in each.classes and (in_page or not (wanted or unless))


def _of_page(names: str) -> bool:
    return any(name in ("html", "html:js", "html4", "html5") for name in names.replace(",", " ").split())
