"""Documents and archives of them as records; what is hostile or cannot be read is named, and the rest is taken."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event as Flag
from typing import Any

import docx
import openpyxl
import pytest

from services.search.records import archives, documents
from services.search.records.files import RecordFile, read, sniff
from services.search.records.notes import Notes
from services.search.records.shape import Refused, record
from services.search.records.spool import spooled
from shared.bounded_process import Bounds
from shared.contracts.search import Record, TableSpec
from shared.errors import UnreadableFile

SPEC = TableSpec.model_validate({"fields": {"path": "keyword", "title": "text", "page": "integer", "price": "float"}})


def items(content: bytes, name: str, notes: Notes | None = None, format: str = "auto") -> list[Any]:
    with TemporaryFile() as stream:
        stream.write(content)
        stream.flush()
        return list(read(RecordFile(stream, "t", SPEC, format, name, notes=notes or Notes())))


def pdf(pages: Sequence[str], title: str = "", page_objects: int | None = None) -> bytes:
    """A PDF with a line of Helvetica on each page; ``page_objects``: how often the tree names the first one."""
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
               f"<< /Title ({title}) >>".encode()]  # fmt: skip
    numbers = []
    for text in pages:
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        resources = b"/Resources << /Font << /F1 3 0 R >> >>"
        objects.append(b"<< /Type /Page /Parent 2 0 R /Contents %d 0 R %s >>" % (len(objects), resources))
        numbers.append(len(objects))
    kids = numbers[:1] * page_objects if page_objects else numbers
    listed = b" ".join(b"%d 0 R" % number for number in kids)
    box = b"/MediaBox [0 0 612 792]"
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d %s >>" % (listed, len(kids), box)
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, 2)
    places = []
    for number, content in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, content))
    begins = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R /Info 4 0 R >>\n" % (len(objects) + 1))
    out.write(b"startxref\n%d\n%%%%EOF\n" % begins)
    return out.getvalue()


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Travel policy", 1)
    document.add_paragraph("Book by train.")
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "Limit", "120 EUR"
    document.add_paragraph("Ask your manager.")
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def workbook() -> bytes:
    book = openpyxl.Workbook()
    assert book.active is not None
    rows: list[list[Any]] = [["id", "name", "price"], [1, "Pump", 19.99], [2, "Wheel", "n/a"]]
    for row in rows:
        book.active.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "title", "text"),
    [
        ("a.md", b"Intro.\n\n# The *rules*\n\nBe kind.\n", "The *rules*", "Intro.\n\n# The *rules*\n\nBe kind."),
        ("a.md", b"---\ntitle: 'On call'\nowner: me\n---\n\n# Other\nText\n", "On call", "# Other\nText"),
        ("a.markdown", b"Setext title\n============\n\nText\n", "Setext title", "Setext title\n============\n\nText"),
        ("b/guide.md", b"```\n# no heading\n```\nText\n", "guide", "```\n# no heading\n```\nText"),
        ("a.qmd", "# Grüße\n".encode("cp1252"), "Grüße", "# Grüße"),
        ("a.md", "# Grüße\n".encode("utf-16"), "Grüße", "# Grüße"),
        ("a.txt", b"\n\n====\nOpening hours\n9 to 5\n", "Opening hours", "====\nOpening hours\n9 to 5"),
        ("a.txt", b"Dear all, thanks, as ever, for coming, and so on.\n", "Dear all", "Dear all, thanks"),
        ("a.rst", b"Title\n=====\n\nText\n", "Title", "Title\n=====\n\nText"),
        (
            "a.html",
            b"<!doctype html><html><head><title>Refunds</title><style>x{}</style></head><body><h1>R</h1>"
            b"<script>evil()</script><p>Within <b>30</b> days.</p><ul><li>one<li>two</ul>"
            b"<table><tr><td>a</td><td>b</td></tr></table></body></html>",
            "Refunds",
            "R\nWithin 30 days.\none\ntwo\na b",
        ),
        ("page.htm", b"<h1>No title</h1><p>x<br>y</p>", "No title", "No title\nx\ny"),
        ("noname", b"<html><body><p>caf\xc3\xa9</p></body></html>", "noname", "caf\u00e9"),
        ("a.html", b'<meta charset="iso-8859-1"><p>caf\xe9</p>', "a", "caf\u00e9"),
        ("a.docx", word(), "Travel policy", "Travel policy\nBook by train.\nLimit\t120 EUR\nAsk your manager."),
    ],
)
def test_a_document_is_one_record_with_its_path_and_title(name: str, content: bytes, title: str, text: str) -> None:
    [item] = items(content, name)
    assert item["id"] == name
    assert item["fields"]["path"] == name
    assert item["name"] == item["fields"]["title"]
    assert item["name"].startswith(title)
    assert item["text"].strip().startswith(text)
    assert isinstance(record(item, SPEC), Record)


def test_a_pdf_is_one_record_for_each_page_that_has_text() -> None:
    notes = Notes()
    found = items(pdf(["Alpha", "", "Gamma"], "The manual"), "m.pdf", notes)
    assert [(item["id"], item["name"], item["text"].strip(), item["fields"]["page"]) for item in found] == [
        ("m.pdf#page=1", "The manual", "Alpha", 1), ("m.pdf#page=3", "The manual", "Gamma", 3),
    ]  # fmt: skip
    assert notes.texts() == ["m.pdf: no text on page 2"]
    [scan] = items(pdf(["", ""]), "scan.pdf")
    assert (scan.code, "may be a scan" in scan.message) == ("no_text", True)


@pytest.mark.parametrize(
    ("content", "name", "why"),
    [
        (b"%PDF-1.4 nonsense", "a.pdf", "not a readable PDF"),
        (pdf(["x"], page_objects=5001), "a.pdf", "5,001 pages, at most 5,000"),
        (b"PK\x03\x04 nonsense", "a.docx", "archive is damaged"),
        (b"\0\1\2binary" * 20, "a.md", "binary data"),
        (b"\x1f\x8b nonsense", "a.tar.gz", "archive is damaged"),
    ],
)
def test_what_is_no_document_is_refused_with_the_reason(content: bytes, name: str, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        items(content, name)


@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_a_document_without_text_is_refused_by_its_path(name: str) -> None:
    [item] = items(b"<p> </p>" if name == "a.html" else b" \n\n", name)
    assert (item.code, item.id) == ("no_text", name)


def test_a_text_that_is_longer_than_a_record_becomes_several() -> None:
    notes = Notes()
    found = items(("word " * 15 + "\n").encode() * 30_000, "long.txt", notes)
    assert [item["id"] for item in found] == ["long.txt#part=1", "long.txt#part=2", "long.txt#part=3"]
    assert sum(len(item["text"]) for item in found) == 30_000 * 76
    assert all(isinstance(record(item, SPEC), Record) for item in found)
    assert any("several records" in note for note in notes.texts())


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


HANDBOOK = {
    "./leave.md": b"# Leave\n\n30 days.\n",
    "./it/vpn.html": b"<html><title>VPN</title><p>Use it.</p></html>",
    "./it/manual.pdf": pdf(["Page one", "Page two"], "Manual"),
    "./policy.docx": word(),
    "./prices.xlsx": workbook(),
    "./towns.csv": b"id;name\n7;K\xf6ln\n",
    "./logo.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "./broken.pdf": b"%PDF-1.4 nonsense",
    "./.git/config": b"secret",
    "./__MACOSX/leave.md": b"junk",
}


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_a_folder_of_documents_and_tables_is_read_whole(pack: Callable[[Mapping[str, bytes]], bytes]) -> None:
    notes = Notes()
    found = items(pack(HANDBOOK), "handbook.zip", notes)
    taken = {str(item["id"]): item for item in found if not isinstance(item, Refused)}
    assert sorted(taken) == ["1", "2", "7", "it/manual.pdf#page=1", "it/manual.pdf#page=2", "it/vpn.html",
                             "leave.md", "policy.docx"]  # fmt: skip
    assert taken["it/manual.pdf#page=2"]["fields"] == {"path": "it/manual.pdf", "title": "Manual", "page": 2}
    assert taken["1"]["fields"] == {"path": "prices.xlsx", "price": 19.99}
    assert taken["7"]["name"] == "Köln"
    assert {(item.code, item.id) for item in found if isinstance(item, Refused)} == {("unreadable_file", "broken.pdf")}
    assert any(note.startswith("logo.png: not read") for note in notes.texts())
    assert any(note.startswith("towns.csv: encoding windows-1252") for note in notes.texts())
    assert not any(".git" in note or "MACOSX" in note for note in notes.texts())


def test_links_devices_and_archives_in_archives_are_named_and_not_followed() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, kind in (("link.md", tarfile.SYMTYPE), ("hard.md", tarfile.LNKTYPE), ("fifo.md", tarfile.FIFOTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
        for name, content in (("../../up.md", b"# Up"), ("inner.zip", zipped({"a.md": b"# A"})), ("ok.md", b"# Ok")):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    notes = Notes()
    found = items(buffer.getvalue(), "a.tar", notes)
    assert [item["id"] for item in found if not isinstance(item, Refused)] == ["up.md", "ok.md"]
    [nested] = [item for item in found if isinstance(item, Refused)]
    assert "archives in archives" in nested.message
    assert {note.split(":")[0] for note in notes.texts()} == {"link.md", "hard.md", "fifo.md"}


def test_a_link_in_a_zip_and_an_encrypted_file_are_not_read() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link.md")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("secret.md", "# x")
        archive.writestr("ok.md", "# Ok")
    content = buffer.getvalue()
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # mark the second file as encrypted
        at = content.index(signature, content.index(signature) + 1)
        content = content[: at + flags] + b"\x01" + content[at + flags + 1 :]
    notes = Notes()
    found = items(content, "a.zip", notes)
    assert [item["id"] for item in found if not isinstance(item, Refused)] == ["ok.md"]
    assert [item.message for item in found if isinstance(item, Refused)] == ["secret.md: it is encrypted"]
    assert notes.texts() == ["link.md: a link, not read"]


@pytest.mark.slow
def test_a_bomb_is_refused_in_little_memory(tmp_path: Path) -> None:
    """2.5 GB of zeros in files of 250 MB, as 2.5 MB."""
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(10):
            with archive.open(f"{number}.md", "w", force_zip64=True) as entry:
                for _ in range(250):
                    entry.write(bytes(1_000_000))
    bounds = Bounds(memory_mb=768, cpu_seconds=100)
    with (
        (tmp_path / "bomb.zip").open("rb") as file,
        pytest.raises(UnreadableFile, match=r"unpacks to more than 2 GB|too much"),
        spooled(file, "auto", "t", SPEC, Flag(), bounds, name="bomb.zip"),
    ):
        pytest.fail("it was read")


def test_a_file_that_is_too_large_and_too_many_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MAX_FILE_BYTES", 100)
    [large, small] = items(zipped({"a.md": b"# A" * 100, "b.md": b"# B"}), "a.zip")
    assert (large.code, small["id"]) == ("unreadable_file", "b.md")
    monkeypatch.setattr(archives, "_MAX_FILES", 1)
    with pytest.raises(UnreadableFile, match="more than 1 files"):
        items(zipped({"a.md": b"# A", "b.md": b"# B"}), "a.zip")


def test_every_way_of_naming_a_kind_leads_to_a_reader() -> None:
    assert set(documents.ENDINGS.values()) <= set(documents.READERS)
    for name, content, kind in [
        ("x", word(), "docx"), ("x", workbook(), "excel"), ("x", zipped({"a": b""}), "archive"),
        ("x.txt", b"id,name\n1,a\n", "csv"), ("x.txt", b"prose\n", "text"), ("x", b"id,name\n1,a\n", "csv"),
        ("x", pdf(["a"]), "pdf"), ("x.md", b"a,b\n", "markdown"), ("x.tar", tarred({"a": b"b"}), "archive"),
    ]:  # fmt: skip
        assert sniff(io.BytesIO(content), name) == kind, (name, kind)


def test_a_document_comes_through_the_process_with_bounds(tmp_path: Path) -> None:
    (tmp_path / "h.zip").write_bytes(zipped(HANDBOOK))
    with (
        (tmp_path / "h.zip").open("rb") as file,
        spooled(file, "auto", "t", SPEC, Flag(), name="h.zip") as records,
    ):
        assert len(list(records)) == 9
        assert any(note.startswith("logo.png") for note in records.notes)
    assert not [name for name in os.listdir(tmp_path) if name != "h.zip"]


def test_damaged_and_empty_files_of_a_folder_are_named_for_what_they_are() -> None:
    notes = Notes()
    content = {"a.docx": b"PK\x03\x04broken", "b.xlsx": b"PK\x03\x04broken", "c.pdf": b"%PDF-1.7\n", "d.pdf": b""}
    found = items(zipped({**content, "ok.md": b"# Ok"}), "a.zip", notes)
    refused = [item.message for item in found if isinstance(item, Refused)]
    assert refused[:2] == ["a.docx: it is no readable docx file", "b.xlsx: it is no readable xlsx file"]
    assert refused[2].startswith("c.pdf: the file cannot be read: it is not a readable PDF")
    assert notes.texts() == ["d.pdf: not read, as it is empty"]
    assert [item["id"] for item in found if not isinstance(item, Refused)] == ["ok.md"]
