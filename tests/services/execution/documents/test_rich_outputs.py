"""What code shows: tables, classes that show themselves, ``IPython.display``, magics; in the result and in the page."""

from __future__ import annotations

import importlib.util
import re

import pytest

from services.execution.documents.parse.magics import runnable
from services.execution.documents.run.outputs import on_screen
from services.execution.languages.table import language_specs
from shared.contracts.execute import Display
from tests.services.execution.documents.support import DocumentJobs, block, codes, python
from tests.services.execution.documents.test_page import page_of, wrong_in

_FORMS = [
    ("html", "'<b>x</b>'", "text/html", "<b>x</b>"),
    ("markdown", "'*x*'", "text/markdown", "<em>x</em>"),
    ("latex", "'$x^2$'", "text/latex", '<math display="block"><msup>'),
    ("svg", "'<svg xmlns=\"http://www.w3.org/2000/svg\"/>'", "image/svg+xml", "data:image/svg+xml;base64,"),
    ("png", "b'\\x89PNG'", "image/png", "data:image/png;base64,"),
]


def shown(jobs: DocumentJobs, text: str) -> tuple[list[Display], str]:
    """What the last chunk of the document shows, and the page."""
    result = jobs.run(text)
    last = [each for each in result.blocks if each.kind == "chunk"][-1]
    assert [message.text for message in last.messages if message.level == "error"] == []
    page = page_of(jobs, result)
    assert [wrong for wrong in wrong_in(page) if wrong != "math"] == []
    return last.outputs, page


@pytest.mark.parametrize(("form", "made", "media_type", "in_page"), _FORMS)
def test_a_value_has_the_form_that_its_class_offers(
    jobs: DocumentJobs, form: str, made: str, media_type: str, in_page: str
) -> None:
    code = f"class A:\n    def _repr_{form}_(self): return {made}\n    def __repr__(self): return 'plain'\nA()"
    outputs, page = shown(jobs, python(code))
    assert [(each.source, each.media_type, each.plain) for each in outputs] == [("value", media_type, "plain")]
    assert in_page in page.replace("<mrow>", "")


@pytest.mark.parametrize(
    "code",
    [
        "import pandas as pd\npd.DataFrame({'a': [1, 2]})",
        "import pandas as pd\npd.DataFrame({'a': [1, 2]}).style",
        "import polars as pl\npl.DataFrame({'a': [1, 2]})",
        "class B:\n    def _repr_mimebundle_(self, **_): return {'text/html': '<table></table>'}\nB()",
    ],
)
def test_a_table_as_last_expression_is_a_table(jobs: DocumentJobs, code: str) -> None:
    outputs, page = shown(jobs, python(code))
    assert [(each.source, each.media_type) for each in outputs] == [("value", "text/html")]
    assert "<table" in page
    assert "<style scoped" not in page


@pytest.mark.parametrize(
    ("bundle", "media_type", "in_page"),
    [
        ({"text/plain": "Slider(3)", "application/vnd.jupyter.widget-view+json": {"model_id": "1"}}, "text/plain",
         "Slider(3)\n(interactive: only its text is kept)"),
        ({"text/plain": "Slider(3)", "text/html": "<i>3</i>", "application/vnd.x": {}}, "text/html", "<i>3</i>"),
        ({"text/plain": "only text"}, "text/plain", "only text"),
        ({"application/json": {"a": 1}, "text/plain": "x"}, "application/json", '"a": 1'),
        ({"text/html": "<div id='p'></div><script>draw()</script>", "text/plain": "Figure"}, "text/html",
         "(An interactive output, which needs scripts: a page runs none.)"),
    ],
)  # fmt: skip
def test_a_widget_shows_its_still_form_or_says_that_it_is_one(
    jobs: DocumentJobs, bundle: dict[str, object], media_type: str, in_page: str
) -> None:
    code = f"class W:\n    def _repr_mimebundle_(self, include, exclude): return {bundle!r}\nW()"
    outputs, page = shown(jobs, python(code))
    assert [each.media_type for each in outputs] == [media_type]
    assert in_page in page


def test_notebooks_with_widgets_run_without_a_browser(jobs: DocumentJobs) -> None:
    code = (
        "from ipywidgets import interact, IntSlider, HBox, fixed\nimport ipywidgets as widgets\n"
        "from tqdm.notebook import tqdm\n"
        "@interact(x=(0, 10), kind=['a', 'b'], scale=fixed(2))\n"
        "def square(x, kind, scale, shift=1):\n    print(kind, x * scale + shift)\n"
        "button = widgets.Button(description='Go')\nbutton.on_click(print)\n"
        "total = sum(tqdm([1, 2]))\ndisplay(widgets.HTML('<b>bold</b>'))\nHBox([IntSlider(value=3), button])"
    )
    outputs, page = shown(jobs, python(code))
    assert "a 11\n" in page
    assert "<b>bold</b>" in page
    assert outputs[-1].text == (
        "HBox(children=[IntSlider(value=3), Button(description='Go')])\n(interactive: only its text is kept)"
    )


def test_tables_of_other_languages_are_tables_too(jobs: DocumentJobs) -> None:
    if language_specs()["r"].versions() is None:
        pytest.skip("R is not installed")
    text = (
        "```r exec\nhead(mtcars, 2)\nknitr::kable(head(iris, 2))\n"
        "knit_print.mine <- function(x, ...) asis_output('**bold**')\nstructure(list(), class = 'mine')\n```\n\n"
        "```javascript exec\nconsole.table([{ a: 1, b: 'x<y' }]);\ndisplay(new Float64Array([1.5, 2]));\n"
        "[{ a: 1 }, { a: 2 }]\n```\n\n"
        "```sql exec\nselect 1 as a, 'x<y' as b, null as c\n```\n"
    )
    result = jobs.run(text)
    forms = [[(each.source, each.media_type) for each in one.outputs] for one in result.blocks]
    assert forms == [
        [("display", "text/html"), ("display", "text/markdown"), ("value", "text/markdown")],
        [("display", "text/html"), ("display", "application/json"), ("value", "text/html")],
        [("value", "text/html")],
    ]
    page = page_of(jobs, result)
    assert page.count("<table>") == 5
    assert "<strong>bold</strong>" in page
    assert "[\n  1.5,\n  2\n]" in page
    assert page.count("x&lt;y</td>") == 2
    assert '<td align="right">1</td>' in page
    assert "<td>NULL</td>" in page


def test_r_documents_find_what_they_use_of_knitr(jobs: DocumentJobs) -> None:
    if language_specs()["r"].versions() is None:
        pytest.skip("R is not installed")
    text = (
        "```{r setup, include=FALSE}\nlibrary(knitr)\nknitr::opts_chunk$set(echo = FALSE, warning = FALSE)\n```\n\n"
        "```{r}\nwarning('careful')\nmessage('told')\ncombine_words(c('a', 'b', 'c'))\n```\n\n"
        "```{r, results='asis', echo=TRUE}\ncat('# From code\\n')\n```\n"
    )
    result = jobs.run(text, flavour="quarto")
    page = page_of(jobs, result)
    assert "opts_chunk" not in page
    assert "combine_words" not in page
    assert "careful" not in page
    assert "told" in page
    assert "a, b, and c" in page
    assert ">From code</h1>" in page
    assert "cat(" in page


def test_ipython_display_without_ipython(jobs: DocumentJobs) -> None:
    code = (
        "from IPython.display import HTML, Markdown, Latex, Math, JSON, SVG, Image, Code, display, clear_output\n"
        "from IPython.core.display import display as other, HTML as Other\nfrom IPython import get_ipython\n"
        "import IPython\n"
        "display('gone')\nprint('gone too')\nclear_output()\n"
        "display(HTML('<i>one</i>'), Markdown('**two**'))\nother(Other('<u>three</u>'))\n"
        "display(Latex('$a$'), Math('b'), JSON({'k': 1}), Code('x < 1'))\n"
        "display(SVG('<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>'))\n"
        "display(Image(b'\\x89PNG', width=50), Image(url='https://example.org/x.png'))\n"
        "handle = display('first', display_id=True)\nhandle.update('second')\n"
        "get_ipython().run_line_magic('matplotlib', 'inline')\n"
        "IPython.display.display({'text/html': '<s>raw</s>', 'text/plain': 'raw'}, raw=True)\n"
        "IPython.display.Markdown('*last*')"
    )
    outputs, page = shown(jobs, python(code))
    kinds = [each.media_type for each in outputs]
    assert kinds == [
        "text/html", "text/markdown", "text/html", "text/latex", "text/latex", "application/json", "text/html",
        "image/svg+xml", "text/html", "text/html", "text/plain", "text/html", "text/markdown",
    ]  # fmt: skip
    assert outputs[-1].source == "value"
    assert outputs[10].text == "second"
    for part in ("<i>one</i>", "<strong>two</strong>", "<u>three</u>", "<s>raw</s>", "<em>last</em>", 'width="50"'):
        assert part in page
    assert '<a href="https://example.org/x.png"' in page
    assert "gone" not in page.replace("display(&#x27;gone", "").replace("print(&#x27;gone", "").replace("'gone", "")


@pytest.mark.parametrize(
    ("code", "kinds"),
    [
        ("import matplotlib.pyplot as plt\nplt.plot([1, 2])", ["image/png"]),
        ("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nfig", ["image/png"]),
        ("import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.set_title('x')", ["image/png"]),
        ("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()", ["image/png"]),
        ("import pandas as pd\npd.Series([1, 2]).plot();", ["image/png"]),
        ("3;", []),
        ("3", ["text/plain"]),
        ("None", []),
    ],
)
def test_a_figure_is_shown_once_and_a_semicolon_shows_nothing(jobs: DocumentJobs, code: str, kinds: list[str]) -> None:
    outputs, _ = shown(jobs, python(code))
    assert [each.media_type for each in outputs] == kinds


@pytest.mark.parametrize(
    ("code", "plain", "said"),
    [
        ("%matplotlib inline\nx = 1\n", "pass\nx = 1\n", []),
        ("if True:\n    %config InlineBackend.figure_format = 'retina'\n", "if True:\n    pass\n", []),
        ("%time y = f(1)\n", "y = f(1)\n", []),
        ("x = %time f(1)\n", "x = f(1)\n", []),
        ("%%time\ny = 2\n", "\ny = 2\n", ["info"]),
        ("%%timeit -n 10\ny = 2\n", "\ny = 2\n", ["info"]),
        ("%%capture out\n%matplotlib inline\ny = 2\n", "\npass\ny = 2\n", []),
        ("!pip install x\ny = 1\n", "pass\ny = 1\n", ["warning"]),
        ("%pip install x\n", "pass\n", ["warning"]),
        ("files = !ls\n", "files = get_ipython().getoutput('!ls')\n", []),
        ("%%bash\nls\n", "", ["warning"]),
        ("%unheard_of 1\n", "pass\n", ["warning"]),
        ("df.head?\nx = 1\n", "pass\nx = 1\n", ["info"]),
        ("%cd data\n", "import os; os.chdir('data')\n", []),
        ("x = 7 % 2\ny = (7\n% x)\n", "x = 7 % 2\ny = (7\n% x)\n", []),
        ("%matplotlib inline\ntext = '''\n%not magic\n'''\n", "pass\ntext = '''\n%not magic\n'''\n", []),
        ("%matplotlib inline\ny = (7\n% x)\n", "pass\ny = (7\n% x)\n", []),
        ("a != b\n", "a != b\n", []),
    ],
)
def test_magics_are_plain_python_or_are_reported(code: str, plain: str, said: list[str]) -> None:
    made, notes = runnable("python", code)
    assert (made, [note.level for note in notes]) == (plain, said)
    assert runnable("r", code) == (code, [])


def test_cells_of_other_languages_and_files_in_magics(jobs: DocumentJobs) -> None:
    text = (
        "```{python}\n%%sql\nselect 42 as answer\n```\n\n```{python}\n%%writefile a.txt\nhello\n```\n\n"
        "```{python}\n%%html\n<b>shown</b>\n```\n\n```{python}\nprint(open('a.txt').read())\n!ls\n```\n"
    )
    result = jobs.run(text, flavour="quarto")
    assert [each.language for each in result.blocks] == ["sql", "python", "python", "python"]
    assert [each.status for each in result.blocks] == ["ok"] * 4
    assert codes(result.blocks[3]) == ["magic"]
    page = page_of(jobs, result)
    assert "<b>shown</b>" in page
    assert "hello" in page
    assert "42</td>" in page


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\\x1b[2Jb", "b"), ("a\n\\x1b[2J\\x1b[s", "a\n"), ("a\n\\x1b[2J\\x1b[sb", "b"), ("1%\r50%\r100%\n", "100%\n"),
        ("long line\rshort", "shortline"), ("a\r\nb", "a\nb"), ("\\x1b[31mred\\x1b[0m", "red"), ("plain", "plain"),
    ],
)  # fmt: skip
def test_a_text_is_what_a_terminal_would_show_in_the_end(text: str, seen: str) -> None:
    assert on_screen(text).replace("shortline", "shortline") == seen


def test_an_imported_display_is_no_value_that_another_language_lacks(jobs: DocumentJobs) -> None:
    text = python("from IPython.display import display") + "\n```javascript exec\ndisplay('x')\n```\n"
    result = jobs.run(text)
    assert block(result, "chunk-2").messages == []
    assert re.search(r"<pre>x</pre>", page_of(jobs, result))


def test_plots_hold_chinese_japanese_and_korean(jobs: DocumentJobs) -> None:
    if importlib.util.find_spec("noto_cjk_sans_otc") is None:
        pytest.skip("noto-cjk-sans-otc is not installed")
    draw = "plt.figure()\nplt.title('日本語 中文 한국어 Ärger')\nplt.show()\n"
    code = f"import matplotlib.pyplot as plt\n{draw}plt.rcParams['font.family'] = 'SimHei'\n{draw}"
    outputs, _ = shown(jobs, python(code))
    assert [each.media_type for each in outputs] == ["image/png", "image/png"]


@pytest.mark.parametrize("language", ["python", "r"])
def test_figures_have_the_size_that_options_say(jobs: DocumentJobs, language: str) -> None:
    if language_specs()[language].versions() is None:
        pytest.skip(f"{language} is not installed")
    code = {"python": "import matplotlib.pyplot as plt\nplt.plot([1, 2]);", "r": "plot(1:2)"}[language]
    chunks = [f"```{{{language}}}\n{options}{code}\n```\n" for options in ("#| fig-width: 8\n#| fig-height: 2\n", "")]
    result = jobs.run("\n".join(chunks), flavour="quarto")
    sizes = []
    for one in result.blocks:
        (picture,) = one.outputs
        header = jobs.files.contents[str(picture.file_id)][1][16:24]
        sizes.append((int.from_bytes(header[:4], "big"), int.from_bytes(header[4:], "big")))
    (wide, low), (usual, high) = sizes
    assert wide / low > 2.5
    assert usual / high < 2


INTERLEAVED = {
    "python": "for n in (1, 2):\n    print(f'before {n}')\n    display(f'shown {n}')\nprint('after')\n'value'",
    "javascript": "for (const n of [1, 2]) { console.log(`before ${n}`); display(`shown ${n}`) }\n"
    "console.log('after'); 'value'",
}


@pytest.mark.parametrize("language", sorted(INTERLEAVED))
def test_what_is_printed_and_what_is_displayed_keep_their_order(jobs: DocumentJobs, language: str) -> None:
    result = jobs.run(f"```{language} exec\n{INTERLEAVED[language]}\n```\n")
    shown = [(each.source, (each.text or "").strip()) for each in result.blocks[0].outputs]
    assert [text for _, text in shown[:-1]] == ["before 1", "shown 1", "before 2", "shown 2", "after"]
    assert shown[-1][0] == "value"


def test_figures_and_warnings_are_where_the_code_showed_them(jobs: DocumentJobs) -> None:
    code = (
        "import matplotlib.pyplot as plt, sys\nfor n in (1, 2):\n    print('title', n)\n    plt.plot([n]); plt.show()\n"
        "    print('late', file=sys.stderr)"
    )
    (one,) = jobs.run(python(code)).blocks
    shown = [(each.source, each.text) for each in one.outputs]
    assert [source for source, _ in shown] == ["stdout", "display", "stdout", "stderr", "display", "stderr"]
    assert [text for _, text in shown if text] == ["title 1\n", "title 2\n", "late\n", "late\n"]


def test_what_clear_output_takes_back_is_not_shown_after_a_display(jobs: DocumentJobs) -> None:
    code = (
        "from IPython.display import clear_output\nprint('old')\ndisplay('gone')\nclear_output()\nprint('new')\n"
        "display('kept')\nprint('last')"
    )
    (one,) = jobs.run(python(code)).blocks
    assert [(each.text or "").strip() for each in one.outputs] == ["new", "kept", "last"]


def test_output_that_is_cut_stays_before_its_displays(jobs: DocumentJobs) -> None:
    (one,) = jobs.run(python("display('shown')\nprint('x' * 3_000_000)")).blocks
    assert [each.source for each in one.outputs] == ["stdout", "display"]
