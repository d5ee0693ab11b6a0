"""Documents as records: Markdown, HTML, PDF, Word and plain text. A PDF becomes one record for each page."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from pydantic import JsonValue

from services.search.records.notes import Notes
from services.search.records.shape import Raw, Refused
from shared.amounts import amount
from shared.reading.source import read_text

ENDINGS: Mapping[str, str] = MappingProxyType(
    {
        ".md": "markdown", ".markdown": "markdown", ".mdown": "markdown", ".qmd": "markdown", ".rmd": "markdown",
        ".html": "html", ".htm": "html", ".xhtml": "html", ".docx": "docx", ".rst": "text", ".adoc": "text",
    }
)  # fmt: skip
_MAX_PAGES = 5000
_MAX_TEXT = 1_000_000  #: characters of a record's text
_MAX_NAME = 1000
_MAX_ID = 256
_MAX_TEXT_BYTES = 64_000_000
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.*?)\r?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t#]*$|^(.+)\n(?:=+|-+)[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_HIDDEN = ("script", "style", "template", "noscript", "svg", "head")
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "figcaption", "figure", "footer",
        "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre", "section",
        "table", "tr", "ul",
    }
)  # fmt: skip


class UnreadableDocument(Exception):
    """The document is not what it should be; the text says why."""


def read(format: str, path: Path, name: str, notes: Notes) -> Iterator[Raw | Refused]:
    """Yield the document as records with ``path``, ``title`` and, of a PDF, ``page``. Raises: UnreadableDocument."""
    yield from READERS[format](path, name, notes)


def _record(name: str, title: str, text: str, page: int | None = None) -> Raw | Refused:
    """Return a record whose id is the path, so that a changed document replaces its earlier version."""
    identity = name if page is None else f"{name}#page={page}"
    if not text.strip():
        return Refused("no_text", f"{identity}: there is no text in it", identity[:_MAX_ID])
    shown = " ".join(title.split())[:_MAX_NAME] or PurePosixPath(name).stem
    fields: dict[str, JsonValue] = {"path": name, "title": shown}
    if page is not None:
        fields["page"] = page
    return {"id": _short(identity), "name": shown, "text": text.replace("\0", ""), "facets": {}, "fields": fields}


def _short(identity: str) -> str:
    """Return the id, or of a long one its hash."""
    return identity if len(identity) <= _MAX_ID else hashlib.sha256(identity.encode()).hexdigest()


def _in_parts(name: str, title: str, text: str, notes: Notes) -> Iterator[Raw | Refused]:
    """Yield one record; of a text that is too long for one several, cut between lines."""
    if len(text) <= _MAX_TEXT:
        yield _record(name, title, text)
        return
    notes.add(f"{name}: longer than {_MAX_TEXT:,} characters, so it became several records")
    number, begins = 1, 0
    while begins < len(text):
        ends = text.rfind("\n", begins, begins + _MAX_TEXT) + 1 if begins + _MAX_TEXT < len(text) else len(text)
        ends = ends if ends > begins else begins + _MAX_TEXT
        part = _record(f"{name}#part={number}", f"{title} ({number})", text[begins:ends])
        yield part if isinstance(part, Refused) else {**part, "fields": {"path": name, "title": title}}
        number, begins = number + 1, ends


def _text_of(path: Path, name: str, notes: Notes) -> str:
    """Read a document's text. Raises: UnreadableDocument, Unreadable."""
    if path.stat().st_size > _MAX_TEXT_BYTES:
        raise UnreadableDocument(f"a text may have {_MAX_TEXT_BYTES // 1_000_000} MB")
    text = read_text(path)
    if b"\0" in text.content[:4096]:
        raise UnreadableDocument("it holds binary data, not text")
    if text.encoding != "utf-8":
        notes.add(f"{name}: encoding {text.encoding}")
    if text.note:
        notes.add(f"{name}: {text.note}")
    return text.content.decode()


def _plain(path: Path, name: str, notes: Notes) -> Iterator[Raw | Refused]:
    text = _text_of(path, name, notes)
    title = next((line.strip() for line in text.splitlines() if line.strip(" \t=-*#~_")), "")
    yield from _in_parts(name, title[:200], text, notes)


def _markdown(path: Path, name: str, notes: Notes) -> Iterator[Raw | Refused]:
    text = _text_of(path, name, notes)
    front = _FRONT_MATTER.match(text)
    stated = _TITLE.search(front[1]) if front else None
    body = text[front.end() :] if front else text
    heading = _HEADING.search(_FENCE.sub("", body))
    title = stated[1].strip().strip("\"'") if stated else (heading[1] or heading[2]) if heading else ""
    yield from _in_parts(name, title or PurePosixPath(name).stem, body, notes)


def _html(path: Path, name: str, notes: Notes) -> Iterator[Raw | Refused]:
    from lxml import etree, html  # noqa: PLC0415 - few ingests need it

    if path.stat().st_size > _MAX_TEXT_BYTES:
        raise UnreadableDocument(f"a text may have {_MAX_TEXT_BYTES // 1_000_000} MB")
    raw = path.read_bytes()
    try:
        raw.decode()
        parser = html.HTMLParser(encoding="utf-8", no_network=True)
    except UnicodeDecodeError:
        parser = html.HTMLParser(no_network=True)  # the page says its encoding
    try:
        page = html.document_fromstring(raw, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        raise UnreadableDocument("it is not HTML") from None
    title = next((heading.text_content() for heading in page.iter("title", "h1") if heading.text_content().strip()), "")
    for hidden in list(page.iter(*_HIDDEN)):
        hidden.drop_tree()
    for element in page.iter():
        if element.tag in _BLOCKS:
            element.tail = "\n" + (element.tail or "")
            element.text = "\n" + (element.text or "") if element.tag != "br" else element.text
        elif element.tag in ("td", "th"):
            element.tail = "\t" + (element.tail or "")
    lines = (" ".join(line.split()) for line in page.text_content().splitlines())
    yield from _in_parts(name, title, "\n".join(line for line in lines if line), notes)


def _docx(path: Path, name: str, notes: Notes) -> Iterator[Raw | Refused]:
    import docx  # noqa: PLC0415 - few ingests need it
    from docx.table import Table  # noqa: PLC0415

    _check_unpacked(path)
    try:
        document = docx.Document(str(path))
        title = document.core_properties.title or ""
        lines: list[str] = []
        for block in document.iter_inner_content():
            if isinstance(block, Table):
                lines += ["\t".join(cell.text.replace("\n", " ") for cell in row.cells) for row in block.rows]
            else:
                style = (block.style.name or "") if block.style is not None else ""
                title = title or (block.text if style.startswith(("Title", "Heading")) else "")
                lines.append(block.text)
    except Exception as fault:  # whatever its parsers raise for a damaged one
        raise UnreadableDocument(f"it is not a readable Word document ({type(fault).__name__})") from None
    yield from _in_parts(name, title, "\n".join(line for line in lines if line.strip()), notes)


def _check_unpacked(path: Path) -> None:
    """Check the unpacked size. Raises: UnreadableDocument."""
    import zipfile  # noqa: PLC0415

    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError):
        raise UnreadableDocument("it is not a readable Word document") from None
    if size > 8 * _MAX_TEXT_BYTES:
        raise UnreadableDocument(f"it unpacks to {size / 1e6:,.0f} MB, more than can be read")


def _pdf(path: Path, name: str, notes: Notes) -> Iterator[Raw | Refused]:
    import pypdf  # noqa: PLC0415 - few ingests need it

    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument("it is encrypted: remove its password first")
        count = len(reader.pages)
        title = str((reader.metadata.title if reader.metadata else None) or "")
    except UnreadableDocument:
        raise
    except Exception as fault:  # whatever its parsers raise for a damaged one
        raise UnreadableDocument(f"it is not a readable PDF ({type(fault).__name__})") from None
    if count > _MAX_PAGES:
        raise UnreadableDocument(f"it has {count:,} pages, at most {_MAX_PAGES:,} can be read: split it")
    empty: list[int] = []
    for number in range(count):
        try:
            text = reader.pages[number].extract_text()
        except Exception as fault:
            identity = f"{name}#page={number + 1}"
            yield Refused(
                "unreadable_page", f"{identity}: it cannot be read ({type(fault).__name__})", identity[:_MAX_ID]
            )
            continue
        if text.strip():
            yield _record(name, title or PurePosixPath(name).stem, text[:_MAX_TEXT], number + 1)
        else:
            empty.append(number + 1)
    if len(empty) == count:
        yield Refused("no_text", f"{name}: no text in {amount(count, 'page')}; it may be a scan", name[:_MAX_ID])
    elif empty:
        shown = ", ".join(map(str, empty[:10])) + ", ..." * (len(empty) > 10)
        notes.add(f"{name}: no text on page{'s' * (len(empty) > 1)} {shown}")


READERS: Mapping[str, Callable[[Path, str, Notes], Iterator[Raw | Refused]]] = MappingProxyType(
    {"markdown": _markdown, "html": _html, "pdf": _pdf, "docx": _docx, "text": _plain}
)
