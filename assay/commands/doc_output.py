"""What `assay doc run -o FILE` writes, by its ending; PDF and Word by programs of this machine, without network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from assay.commands.session import CommandLine, UsageError

Result = Mapping[str, Any]
Content = Callable[[CommandLine, Result], bytes]
Converter = Callable[[Path, Path], list[str]]  #: the command that makes the second file of the first

_MARKDOWN = (".md", ".markdown", ".qmd", ".smd", ".myst", ".rmd", ".txt")
_CHROMIUM = (
    "chromium", "chromium-browser", "chromium-headless-shell", "chrome-headless-shell", "google-chrome", "chrome",
    "headless_shell",
)  # fmt: skip
_ENGINES = ("typst", "weasyprint", "wkhtmltopdf")
_SECONDS = 180.0
_TITLE_BLOCK = re.compile(r"<main><header>(<h1[^>]*>.*?</h1>)", re.S)
_TITLE = re.compile(r"<title>.*?</title>", re.S)
_FIGURE = re.compile(r"<(/?)figure\b([^<>]*)>")
_CAPTION = re.compile(r"<figcaption>(.*?)</figcaption>", re.S)
_CALLOUT_TITLE = re.compile(r'<p class="callout-title">(.*?)</p>', re.S)


def content_of(target: Path) -> Content:
    """Return the function that makes the file's content.

    Raises: UsageError for an ending that nothing is written as, or when the program for it is not here.
    """
    ending = target.suffix.lower()
    if ending in _MARKDOWN:
        return lambda _, result: str(result["markdown"]).encode()
    if ending in (".html", ".htm"):
        return _page
    if ending == ".ipynb":
        return _notebook
    if ending in (".pdf", ".docx"):
        convert = _to_pdf() if ending == ".pdf" else _to_word()
        prepared = _for_word if ending == ".docx" else bytes
        return lambda session, result: _converted(prepared(_page(session, result)), ending, convert)
    known = ", ".join((*_MARKDOWN, ".html", ".ipynb", ".pdf", ".docx"))
    raise UsageError(f"a document is not written as {target.name}: its ending may be {known}")


def _page(session: CommandLine, result: Result) -> bytes:
    if not result.get("html_file_id"):
        raise UsageError("a dry run has no page")
    return _file(session, result["html_file_id"])


def _notebook(session: CommandLine, result: Result) -> bytes:
    if not result.get("notebook_file_id"):
        raise UsageError("a dry run has no notebook")
    return _file(session, result["notebook_file_id"])


def _file(session: CommandLine, id: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="assay-doc-") as folder:
        return Path(session.client.files.save(id, Path(folder) / "content")).read_bytes()


def _to_word() -> Converter:
    """Return the converter to Word. Raises: UsageError.

    Without pandoc's ``--sandbox``: it hides the template of Word files from a pandoc that does not hold it in itself,
    as Debian's. A page is cleaned and names no file, so there is nothing else to read.
    """
    pandoc = shutil.which("pandoc")
    if pandoc is None:
        raise UsageError(
            "Word files are made by pandoc, which is not here: install it (Debian: apt-get install pandoc)"
        )
    return lambda page, target: [pandoc, "--from=html", "--to=docx", f"--output={target}", str(page)]


def _for_word(page: bytes) -> bytes:
    """Return the page as pandoc understands it: of a figure pandoc keeps one picture, and it has the title twice."""
    text = page.decode()
    if (titled := _TITLE_BLOCK.search(text)) is not None:
        text = text.replace(titled[1], "", 1)
    else:
        text = _TITLE.sub("", text, count=1)
    text = _FIGURE.sub(lambda tag: f"<{tag[1]}div{tag[2]}>", text)
    text = _CAPTION.sub(r'<div data-custom-style="Image Caption"><p>\1</p></div>', text)
    return _CALLOUT_TITLE.sub(r"<p><strong>\1</strong></p>", text).encode()


def _to_pdf() -> Converter:
    """Return the converter to PDF: Chromium prints the page as shown, else pandoc typesets it. Raises: UsageError."""
    for name in _CHROMIUM:
        if chromium := shutil.which(name):
            return lambda page, target: _printing(chromium, page, target)
    pandoc = shutil.which("pandoc")
    engine = next(filter(None, map(shutil.which, _ENGINES)), None)
    if pandoc is None or engine is None:
        raise UsageError(
            "PDF is printed by Chromium, or made by pandoc with typst or weasyprint, and neither is here: install one "
            "(Debian: apt-get install chromium-headless-shell), or write an .html and print that"
        )
    return lambda page, target: [pandoc, "--from=html", f"--pdf-engine={engine}", f"--output={target}", str(page)]


def _printing(chromium: str, page: Path, target: Path) -> list[str]:
    """Return Chromium's command line; the page's own policy blocks scripts and loads, and no name is resolved."""
    root = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's own cannot be set up as root
    return [
        chromium, "--headless", *root, "--disable-gpu", "--disable-extensions", "--disable-dev-shm-usage",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / 'profile'}",
        "--no-pdf-header-footer", f"--print-to-pdf={target}", page.as_uri(),
    ]  # fmt: skip


def _converted(page: bytes, ending: str, convert: Converter) -> bytes:
    """Return the page converted to the format of ``ending``. Raises: UsageError."""
    with tempfile.TemporaryDirectory(prefix="assay-doc-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / f"out{ending}"
        source.write_bytes(page)
        command = convert(source, target)
        program = Path(command[0]).name
        environment = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
        try:
            made = subprocess.run(
                command, cwd=folder, env={**environment, "HOME": folder}, stdin=subprocess.DEVNULL,
                capture_output=True, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise UsageError(f"{program} did not end within {_SECONDS:.0f} s") from None
        if made.returncode != 0 or not target.is_file():
            said = made.stderr.decode(errors="replace").strip().splitlines()
            raise UsageError(f"{program} could not write it: {said[-1][:300] if said else made.returncode}")
        return target.read_bytes()
