"""The page: it needs no other file, and whatever code or a model puts into it, nothing of it runs or is fetched."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from shared.contracts.document import DocumentResult
from tests.services.execution.documents.support import DocumentJobs, python

HOSTILE = [
    "<script>alert(1)</script>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img src='data:text/html,<script>alert(1)</script>'>",
    "<img src='https://example.org/x.png'>",
    "<img srcset='https://example.org/x.png 1x'>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'></use></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></mtext></math>",
    "<style>@import url(https://example.org/x.css); body{background:url(https://example.org/x)}</style>",
    "<p style='background:url(https://example.org/x);position:fixed'>x</p>",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href=https://example.org/>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data=https://example.org/x></object><embed src=https://example.org/x>",
    "<form action=https://example.org><input name=x><button formaction='javascript:alert(1)'>x</button></form>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=' java\tscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='data:text/html;base64,PHNjcmlwdD4='>x</a>",
    "<a href='vbscript:x' onclick=alert(1)>x</a>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video><source onerror=alert(1)></video><audio src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'></noscript>",
    "<template><script>alert(1)</script></template>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<textarea></textarea><img src=x onerror=alert(1)></body></html><script>alert(1)</script>",
    "</section></body><script>alert(1)</script>",
    "<title></title><img src=x onerror=alert(1)>",
]
_TAGS = {"script", "svg", "math", "iframe", "object", "embed", "link", "base", "form", "input", "button", "video"}


class Reader(HTMLParser):
    """Everything in a page that could run or be fetched."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.styles = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.styles += tag == "style"
        if tag in _TAGS or (tag == "meta" and dict(attrs).get("http-equiv", "").lower() == "refresh"):  # type: ignore[union-attr]
            self.wrong.append(tag)
        for name, value in attrs:
            text = re.sub(r"[\s\x00]", "", value or "").lower()
            if name.startswith("on") or name in ("style", "srcset", "srcdoc", "formaction", "background"):
                self.wrong.append(f"{tag} {name}")
            if name == "src" and not text.startswith("data:image/"):
                self.wrong.append(f"{tag} src={text[:50]}")
            if name == "href" and re.match(r"(?!https?:|mailto:)[a-z][a-z0-9+.-]*:", text):
                self.wrong.append(f"{tag} href={text[:50]}")


def page_of(jobs: DocumentJobs, result: DocumentResult) -> str:
    assert result.html_file_id is not None
    return jobs.files.contents[result.html_file_id][1].decode()


def wrong_in(page: str) -> list[str]:
    reader = Reader()
    reader.feed(page)
    assert reader.styles == 1
    return reader.wrong


def test_nothing_hostile_of_a_display_is_in_the_page(jobs: DocumentJobs) -> None:
    shows = "class H:\n    def __init__(self, text): self.text = text\n    def _repr_html_(self): return self.text\n"
    code = shows + "\n".join(f"display(H({text!r}))" for text in HOSTILE)
    page = page_of(jobs, jobs.run(python(code)))
    assert wrong_in(page) == []
    assert page.endswith("</main></body></html>")


@pytest.mark.parametrize("place", ["prose", "answer", "output", "error", "inline", "heading"])
def test_nothing_hostile_of_a_text_is_in_the_page(jobs: DocumentJobs, place: str) -> None:
    text, answer = "", "Fine."
    for hostile in HOSTILE:
        if place == "prose":
            text += f"{hostile}\n\n[x]({hostile.replace(' ', '')}) ![x](https://example.org/x.png) <{hostile}>\n\n"
        elif place == "heading":
            text += f"# {hostile}\n\n"
    if place == "answer":
        text, answer = "::: describe it :::\n", "\n\n".join(HOSTILE) + "\n\n![x](javascript:alert(1))"
    elif place == "output":
        text = python(f"print({chr(10).join(HOSTILE)!r})")
    elif place == "error":
        text = python(f"raise ValueError({chr(10).join(HOSTILE)!r})")
    elif place == "inline":
        text = python(f"x = {' '.join(HOSTILE)!r}") + "It is `x`{python exec}.\n"
    assert wrong_in(page_of(jobs, jobs.run(text, answer=answer))) == []


def test_pictures_of_each_kind_are_in_the_page(jobs: DocumentJobs) -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"><rect width="9" height="9"/></svg>'
    code = (
        f"class S:\n    def _repr_svg_(self): return {svg!r}\ndisplay(S())\n"
        "class J:\n    def _repr_jpeg_(self): return b'\\xff\\xd8\\xff'\ndisplay(J())\n"
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
    )
    page = page_of(jobs, jobs.run(python(code)))
    assert [kind for kind in ("png", "jpeg", "svg+xml") if f'src="data:image/{kind};base64,' in page] == [
        "png", "jpeg", "svg+xml",
    ]  # fmt: skip
    assert wrong_in(page) == []


def test_the_page_is_called_by_its_first_heading(jobs: DocumentJobs) -> None:
    page = page_of(jobs, jobs.run(python("# no heading\nx = 1") + "\n# Sales & *costs*\n"))
    assert "<title>Sales &amp; costs</title>" in page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a {++*new* text++} b", "<p>a <ins><em>new</em> text</ins> b</p>"),
        ('a {--old--}{by="Ada & Bo"} b', '<p>a <del title="by Ada &amp; Bo">old</del> b</p>'),
        ("a {~~old~>new~~}, b", "<p>a <del>old</del><ins>new</ins>, b</p>"),
        ("a {>>c1}word{<<c1} b", "<p>a word b</p>"),
        ("a {++one {++two++} b", "<p>a <ins>one {++two</ins> b</p>"),
        ("a `{++code++}` b", "<p>a <code>{++code++}</code> b</p>"),
        ("a {++open, {~~x~~}, {--, \\{++escaped b", "<p>a {++open, {<s>x</s>}, {--, {++escaped b</p>"),
        ("{++<script>x</script>++}", "<p><ins>&lt;script&gt;x&lt;/script&gt;</ins></p>"),
    ],
)
def test_changes_within_a_line_are_shown_and_kept(jobs: DocumentJobs, text: str, shown: str) -> None:
    result = jobs.run(text)
    assert result.markdown == text
    assert shown in page_of(jobs, result)


ODD = [
    "[" * 400_000,
    "{++" * 100_000,
    "{~~a~>" * 100_000,
    "*a " * 200_000,
    "> " * 100_000 + "x",
    "`" * 400_000,
    "| a " * 100_000,
    "![" * 200_000,
]


@pytest.mark.parametrize("text", [*ODD, "<" * 400_000, "&" * 400_000, "a_" * 200_000, "\n".join(["[" * 900, ""] * 400)])
@pytest.mark.timeout(60)
def test_a_page_of_odd_signs_is_made_all_the_same(jobs: DocumentJobs, text: str) -> None:
    assert "<p>After it.</p>" in page_of(jobs, jobs.run(f"x {text}\n\nAfter it.\n"))


def test_comments_are_not_in_the_page(jobs: DocumentJobs) -> None:
    page = page_of(jobs, jobs.run("One.\n\n<!-- hidden\n\n# hidden\n-->\n\nTwo.\n"))
    assert "hidden" not in page
    assert "<p>Two.</p>" in page


def test_a_picture_has_words_for_those_who_do_not_see_it(jobs: DocumentJobs) -> None:
    draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n```\n\n"
    text = f"```{{python}}\n#| label: one\n{draw}```{{python}}\n#| fig-alt: 'It \"rises\" & <falls>'\n{draw}"
    page = page_of(jobs, jobs.run(text, flavour="quarto"))
    assert re.findall(r'<img alt="(.*?)" src="data:', page) == [
        "A figure of one",
        "It &quot;rises&quot; &amp; &lt;falls&gt;",
    ]
