"""The parsers: what each reads, what it may raise, and honest inputs to begin from."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType

import openpyxl
import pyarrow as pa
import pyarrow.ipc as pa_ipc
import pyarrow.parquet as pq

from assay.events import Feed
from services.execution.documents.parse.reader import parse
from services.execution.sandbox.guest.meter import Meter, Uncounted
from services.execution.sandbox.protocol.wire import FrameReader, frame
from services.search.records.files import RecordFile
from services.search.records.files import read as read_records
from services.stacks.manifests import formats
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from shared import plain_yaml
from shared.contracts.search import TableSpec
from shared.declarations.assertions import parse_assertion
from shared.declarations.documents import declarations, front_matter_fault, parameters_schema
from shared.errors import AssayError
from shared.flows.incoming import import_document
from shared.llm.call_clock import Timeouts, Watch
from shared.llm.chat import ChatRequest
from shared.llm.faults import AdapterFault, ProviderFault
from shared.llm.json_text import AnswerUnreadable
from shared.llm.json_text import parse as parse_answer
from shared.llm.wires.chat_answer import ChatAnswer
from shared.llm.wires.failures import fault_of
from shared.llm.wires.message_answer import MessageAnswer
from shared.llm.wires.sdk import received
from shared.reading.read import read as read_table
from shared.reading.source import Unreadable
from shared.stacks.reading import read_definitions
from tests.services.stacks import archives
from tests.support.raw_provider import chat, chunk, messages


@dataclass(frozen=True)
class Target:
    read: Callable[[bytes], object]
    refuses: tuple[type[Exception], ...]
    seeds: Callable[[], Sequence[bytes]]
    #: It runs in the sandbox or in a process with bounds only: there it may also take all of the memory, or crash.
    contained: bool = False


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "replace"))


def _archive(data: bytes) -> object:
    limits = SourceLimits(entries=10_000, unpacked_bytes=64 << 20, kept_bytes=8 << 20, names_bytes=8 << 20)
    return open_archive(io.BytesIO(data), lambda path: 1 << 20, limits)


def _pax(data: bytes) -> object:
    """The bytes as the extended header of one file."""
    header = tarfile.TarInfo("header")
    header.type, header.size = tarfile.XHDTYPE, len(data)
    entry = tarfile.TarInfo("file")
    padded = data + b"\0" * (-len(data) % 512)
    return _archive(header.tobuf() + padded + entry.tobuf() + b"\0" * 1024)


def _pack(data: bytes) -> None:
    """As git checks what it has fetched."""
    with tempfile.TemporaryDirectory() as folder:
        _git(folder, "init", "--bare", "--quiet", ".")
        _git(folder, "-c", "core.bigFileThreshold=1m", "index-pack", "--strict", "--stdin", given=data)


@lru_cache(1)
def _packs() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "package.json").write_text('{"name": "a"}' * 50)
        _git(folder, "init", "--quiet", ".")
        _git(folder, "add", ".")
        _git(folder, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "-m", "one")
        return [_git(folder, "pack-objects", "--all", "--stdout", "--quiet")]


def _git(folder: str, *arguments: str, given: bytes = b"") -> bytes:
    environment = {"PATH": os.environ["PATH"], "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, check=False, timeout=60
    ).stdout


def _document(text: str) -> None:
    for flavour in ("stencila", "quarto", "myst"):
        tree = parse(text, flavour)
        assert tree.source == text
    declarations(text)
    parameters_schema(text)
    front_matter_fault(text)


def _frames(data: bytes) -> None:
    reader = FrameReader(1 << 20)
    for at in range(0, len(data), 7):
        reader.feed(data[at : at + 7])


def _status(data: bytes) -> None:
    """A process whose status file says what it likes."""
    with tempfile.TemporaryDirectory() as folder:
        process = Path(folder) / "2"
        process.mkdir()
        (process / "status").write_bytes(data)
        (process / "smaps_rollup").write_bytes(data)
        (process / "stat").write_bytes(data)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            Meter(descriptor).read()
        finally:
            os.close(descriptor)


def _events(data: bytes) -> None:
    feed = Feed()
    for at in range(0, len(data), 11):
        list(feed.receive(data[at : at + 11]))


def _table(name: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            return read_table(Path(file.name), name)

    return read


def _records(data: bytes) -> None:
    spec = TableSpec.model_validate({"fields": {"n": "integer"}})
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        for _ in read_records(RecordFile(stream, "t", spec)):
            pass


_ROWS = pa.table({"n": [1, 2, None], "word": pa.array(["x", None, "x"]).dictionary_encode(), "list": [[1], [], None]})


def _arrow() -> Sequence[bytes]:
    seeds = []
    for made, compression in ((pa_ipc.new_file, None), (pa_ipc.new_stream, "zstd"), (pa_ipc.new_file, "lz4")):
        sink = io.BytesIO()
        with made(sink, _ROWS.schema, options=pa_ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(_ROWS)
        seeds.append(sink.getvalue())
    return seeds


def _parquet() -> Sequence[bytes]:
    seeds = []
    for compression in ("none", "zstd"):
        sink = io.BytesIO()
        pq.write_table(_ROWS, sink, compression=compression)
        seeds.append(sink.getvalue())
    return seeds


def _excel() -> Sequence[bytes]:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["a", "b"], [1, "x"], [2.5, None]):
        sheet.append(row)
    sink = io.BytesIO()
    book.save(sink)
    return [sink.getvalue()]


def _tars() -> Sequence[bytes]:
    files = {"package.json": '{"name": "a"}', "src/" + "x" * 90 + ".py": "print(1)", "ä.txt": "b"}
    plain = [
        archives.tar(files, "top/", form) for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT)
    ]
    return [*plain, *(pack(plain[0]) for pack in archives.PACKED.values())]  # type: ignore[no-untyped-call]


_DOCUMENT = """---
params:
  n: {type: integer, min: 1}
---

Text with `code`{python exec} and &[m]{int min=1 def=2}, {{ x }} and {++new++}{by="A"}.

```python exec id=one
x = 1
```

::: if `x > 0` {python}
::: describe [openai/gpt-5] x2 t10 as=y A message {{ x }} >>>

```
code
```

:++ {by="B"} accept
An answer.
:++
::: else
:::

::: for i in range(3)
::: include other.md
:::

```{code-cell} python
:label: a
1
```
"""
_MERMAID = """---
title: A
---
flowchart TD
  a[Start] --> b{Choose?}
  b -- yes --> c(("Done"))
  subgraph one [One]
    d[/in/] -.-> e[(db)]
  end
  classDef red fill:#f00,stroke:#333
  class a red
  click a "https://example.com"
  style b fill:#ff0
"""
_STATUS = (
    b"Name:\tx\nUid:\t1\t1\t1\t1\nVmHWM:\t 10 kB\nRssAnon:\t  12 kB\nRssShmem:\t 0 kB\nThreads:\t1\nPss_Anon: 3 kB\n"
)
_SSE = (
    b"retry: 10\nid: 4\nevent: turn\ndata: "
    + json.dumps({"seq": 4, "type": "turn", "job_id": "j", "at": "2026-01-01"}).encode()
    + b"\n\n: silence\n\ndata: a\ndata: b\n\n"
)
_YAML = b"a: &x {b: [1, 2.5, 'c', 2024-01-01]}\nd:\n  <<: *x\n  e: |\n    text\n---\n- f\n"
_DEFINITIONS = b"definitions:\n- id: acme-tool\n  name: Acme\n  category: framework\n  files: ['acme.yml']\n"


def _given(*seeds: bytes | str) -> Callable[[], Sequence[bytes]]:
    return lambda: [seed.encode() if isinstance(seed, str) else seed for seed in seeds]


def _answer(make: Callable[[], ChatAnswer | MessageAnswer]) -> Callable[[bytes], object]:
    """A provider's answer in two pieces: a reply that can be stored, or a fault of the provider."""

    def read(data: bytes) -> object:
        watch, answer, half = Watch(Timeouts(), time.monotonic() + 60), make(), len(data) // 2
        try:
            arriving = received(iter([data[:half], data[half:]]), watch)
            if isinstance(arriving, Mapping):
                answer.take_whole(arriving)
            else:
                answer.take_events(arriving, watch)
            reply = answer.reply("groq", ChatRequest("flows.edit", ()))
        except Exception as error:
            fault = fault_of(error, watch)
            assert not isinstance(fault, AdapterFault), fault
            raise fault from error
        stored = json.dumps(
            [reply.text, reply.reasoning, reply.model, [dict(call.params) for call in reply.tool_calls]]
        )
        assert "\\u0000" not in stored
        return stored

    return read


_CALLS = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "t", "arguments": '{"a": 1}'}}]}


TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "model_answer": Target(
            _answer(ChatAnswer),
            (ProviderFault,),
            lambda: [
                b"".join(chat("h\u00e9llo \u2028")),
                chunk(_CALLS, "tool_calls"),
                b'{"choices": [{"message": {}}]}',
            ],
        ),
        "model_message": Target(_answer(MessageAnswer), (ProviderFault,), lambda: [b"".join(messages("h\u00e9llo"))]),
        "tar": Target(_archive, (AssayError,), _tars),
        "zip": Target(_archive, (AssayError,), lambda: [archives.zipped({"package.json": "{}", "a/b.py": "x" * 999})]),
        "pax": Target(_pax, (AssayError,), _given(b"18 path=other.txt\n", b"30 mtime=1.5\n12 size=10\n")),
        "git_pack": Target(_pack, (), _packs),
        "yaml": Target(
            lambda data: [
                list(plain_yaml.documents(data.decode("utf-8", "replace"), most=10_000, aliases=True)),
                list(plain_yaml.documents(data.decode("utf-8", "replace"), most=10_000)),
            ],
            (plain_yaml.NotPlain,),
            _given(_YAML),
        ),
        "definitions": Target(_text(read_definitions), (AssayError,), _given(_DEFINITIONS)),
        "toml": Target(_text(formats.read_toml), (formats.Broken,), _given('[a.b]\nc = [1, 2.5, "x"]\n[[d]]\ne = 1\n')),
        "json": Target(_text(formats.read_jsonc), (formats.Broken,), _given('{"a": [1, "b"], /* c */ "d": null,}')),
        "xml": Target(
            _text(formats.read_xml), (formats.Broken,), _given('<p x="1"><a>t</a><!-- c --><![CDATA[d]]></p>')
        ),
        "mermaid": Target(_text(partial(import_document, "mermaid")), (AssayError,), _given(_MERMAID)),
        "flow": Target(
            _text(partial(import_document, "json")),
            (AssayError,),
            _given('{"name": "a", "nodes": [{"id": "1", "position": {"x": 0, "y": 0}, "data": {}}], "edges": []}'),
        ),
        "document": Target(_text(_document), (), _given(_DOCUMENT)),
        "assertion": Target(
            _text(parse_assertion),
            (ValueError,),
            _given(
                "rows >= 1",
                'unique("a", b)',
                "sum(x) unchanged",
                "rows == count(a == b and c > 1)",
                "sorted(a desc, `b`)",
            ),
        ),
        "answer": Target(
            _text(parse_answer), (AnswerUnreadable,), _given('Here: ```json\n{"a": [1, 2,]}\n```', "{a: 1}")
        ),
        "frames": Target(_frames, (), lambda: [frame({"type": "hello", "n": 1}) + frame({"x": [1, "y"]})]),
        "meter": Target(_status, (Uncounted,), _given(_STATUS)),  # which ends the run
        "events": Target(_events, (), _given(_SSE)),
        "arrow": Target(_table("a.arrow"), (Unreadable,), _arrow, contained=True),
        "parquet": Target(_table("a.parquet"), (Unreadable,), _parquet, contained=True),
        "excel": Target(_table("a.xlsx"), (Unreadable,), _excel, contained=True),
        "csv": Target(
            _table("a.csv"), (Unreadable,), _given("a;b\n1,5;x\n2;\n", 'a,b\n"x\ny",2024-01-01\n'), contained=True
        ),
        "table_json": Target(
            _table("a.json"), (Unreadable,), _given('[{"a": 1, "b": [1]}, {"a": "x"}]'), contained=True
        ),
        "records": Target(
            _records,
            (AssayError,),
            lambda: [
                b'{"id": 1, "n": 2}\n{"id": 2}',
                b"id,n\n1,2\n",
                b'[{"id": 1}]',
                b"<schedule></schedule>",
                *_parquet(),
            ],
            contained=True,
        ),
    }
)
