"""Jobs, files and model calls that keep workers busy."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import tarfile
import zipfile

from benchmarks.attacks.attacker import Attack, Attacker


async def submits_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.submit("execute", {"language": "sql", "code": "SELECT 1"}), 32)


async def loops_in_every_sandbox(attacker: Attacker) -> None:
    limits = {"wall_seconds": 10, "cpu_seconds": 10}
    await attacker.endlessly(
        lambda: attacker.submit("execute", {"language": "python", "code": "while 1: 0", "limits": limits}), 2
    )


async def memory_in_every_sandbox(attacker: Attacker) -> None:
    code = "x = []\nwhile 1: x.append(bytearray(b'x' * 10**7))"
    await attacker.endlessly(lambda: attacker.submit("execute", {"language": "python", "code": code}), 2)


async def forks_in_every_sandbox(attacker: Attacker) -> None:
    code = "import os\nwhile 1:\n    try: os.fork()\n    except OSError: pass"
    await attacker.endlessly(lambda: attacker.submit("execute", {"language": "python", "code": code}), 2)


async def output_without_end(attacker: Attacker) -> None:
    code = "import sys\nwhile 1: sys.stdout.write('x' * 65536)"
    await attacker.endlessly(lambda: attacker.submit("execute", {"language": "python", "code": code}), 2)


async def models_tested_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.send("POST", "/v1/models/flows.edit/test", {}), 24)


async def notes_sent_without_end(attacker: Attacker) -> None:
    note = {"message": "add a node", "conversationId": "c"}
    await attacker.endlessly(lambda: attacker.send("POST", "/api/notes", note), 16)


async def webhooks_that_take_for_ever(attacker: Attacker) -> None:
    """A receiver that sends a byte a second; where private addresses are refused, only jobs are left of it."""

    async def slowly(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(1)

    server = await asyncio.start_server(slowly, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with server:
        sql = {"language": "sql", "code": "SELECT 1"}
        await attacker.endlessly(lambda: attacker.submit("execute", sql, webhook=url), 4)


async def large_files_without_end(attacker: Attacker) -> None:
    content = b"x" * 50_000_000
    await attacker.endlessly(lambda: attacker.upload("large.bin", content), 2)


async def small_files_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.upload("small.txt", b"x"), 16)


async def archives_that_blow_up(attacker: Attacker) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(200):
            archive.writestr(f"{number}/package.json", b" " * 10_000_000)
    file = await attacker.upload("bomb.zip", packed.getvalue())
    await attacker.endlessly(lambda: attacker.submit("detect", {"source": {"file_id": file}, "mode": "static"}), 2)


async def archives_of_many_entries(attacker: Attacker) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number in range(30_000):
            archive.addfile(tarfile.TarInfo(f"folder-{number % 100}/file-{number}.py"))
    file = await attacker.upload("many.tar.gz", gzip.compress(packed.getvalue(), 1))
    await attacker.endlessly(lambda: attacker.submit("detect", {"source": {"file_id": file}, "mode": "static"}), 2)


async def tables_that_blow_up(attacker: Attacker) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", b"<x/>")
        archive.writestr("xl/worksheets/sheet1.xml", b"<row/>" * 20_000_000)
    file = await attacker.upload("bomb.xlsx", packed.getvalue())
    data = [{"name": "data", "file_id": file}]
    given = {"task": "sum", "data": data, "code": "result = data"}
    await attacker.endlessly(lambda: attacker.submit("transform", given), 2)


async def records_without_end(attacker: Attacker) -> None:
    await _collection(attacker)
    words = "tuning a large database " * 20
    records = [{"id": str(number), "name": "x", "text": f"{words}{number}"} for number in range(1_000)]
    await attacker.endlessly(
        lambda: attacker.submit("ingest", {"collection": "c", "table": "t", "records": records}), 2
    )


async def questions_without_end(attacker: Attacker) -> None:
    await _collection(attacker)
    await attacker.endlessly(lambda: attacker.submit("search", {"collection": "c", "question": "what is tuned?"}), 8)


async def lists_without_end(attacker: Attacker) -> None:
    await attacker.endlessly(lambda: attacker.send("GET", "/v1/jobs?limit=200&state=succeeded"), 16)


async def layouts_without_end(attacker: Attacker) -> None:
    nodes = [{"id": f"n{number}", "position": {"x": 0, "y": 0}, "data": {}} for number in range(3_000)]
    edges = [{"id": f"e{n}", "source": f"n{n // 3}", "target": f"n{n}"} for n in range(1, 3_000)]
    answer = await attacker.send("POST", "/v1/flows", {"name": "f", "nodes": nodes, "edges": edges})
    flow = json.loads(answer or "{}").get("id", "none")
    await attacker.endlessly(lambda: attacker.send("POST", f"/v1/flows/{flow}/layout", {"direction": "LR"}), 2)


async def _collection(attacker: Attacker) -> None:
    await attacker.send("POST", "/v1/collections", {"name": "c", "tables": {"t": {}}})


ATTACKS: tuple[Attack, ...] = (
    submits_without_end, loops_in_every_sandbox, memory_in_every_sandbox, forks_in_every_sandbox, output_without_end,
    models_tested_without_end, notes_sent_without_end, webhooks_that_take_for_ever, large_files_without_end,
    small_files_without_end, archives_that_blow_up, archives_of_many_entries, tables_that_blow_up,
    records_without_end, questions_without_end, lists_without_end, layouts_without_end,
)  # fmt: skip
