"""`assay files add` of a large file: killed on its way, and continued by the same command."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest

from assay import Client
from assay.calls import uploads
from tests.assay.terminal import Shell
from tests.support.wait import until

SIZE = 40_000_000


class Gate:
    """A way to the server that lets a number of bytes through, and no more until it is opened."""

    def __init__(self, host: str, port: int, most: int) -> None:
        self._target = (host, port)
        self._left = most
        self._open = threading.Event()
        self.shut = threading.Event()  #: it has let through what it may
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def open(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.set()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                theirs, _ = self._listener.accept()
            except OSError:
                return
            ours = socket.create_connection(self._target)
            threading.Thread(target=self._copy, args=(theirs, ours, True), daemon=True).start()
            threading.Thread(target=self._copy, args=(ours, theirs, False), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, gated: bool) -> None:
        with closing(target):
            try:
                while data := source.recv(1 << 16):
                    if gated and not self._open.is_set():
                        self._left -= len(data)
                        if self._left < 0:
                            self.shut.set()
                            self._open.wait()
                    target.sendall(data)
            except OSError:
                return


@contextmanager
def gate(url: str, most: int) -> Iterator[Gate]:
    where = urlsplit(url)
    with closing(Gate(where.hostname or "", where.port or 0, most)) as made:
        yield made


@pytest.mark.slow
def test_an_upload_that_was_killed_goes_on_where_it_was(shell: Shell) -> None:
    content = os.urandom(SIZE)
    (shell.folder / "large.bin").write_bytes(content)
    lines = (line.removeprefix("export ").partition("=") for line in shell("status", "-o", "env").out.splitlines())
    env = {name: value.strip("'\"") for name, _, value in lines}
    with gate(env["ASSAY_URL"], 20_000_000) as between:
        words = ("--url", between.url, "--api-key", env["ASSAY_API_KEY"], "files", "add", "large.bin")
        begun = shell.start(*words)
        try:
            until(between.shut.is_set, "twenty megabytes have gone through", seconds=60)
        finally:
            begun.kill()
            begun.communicate()
        between.open()
        ran = shell(*words)
    assert ran.status == 0, ran.talk
    assert re.search(r"resumes from byte (16|24),000,000", ran.talk), ran.talk  # some more was on its way
    told = json.loads(shell("files", "get", ran.out.strip(), "--json").out)
    assert (told["name"], told["size"]) == ("large.bin", SIZE)
    assert told["sha256"] == hashlib.sha256(content).hexdigest()
    again = shell("files", "add", "large.bin")  # nothing is left of the upload: a second file, from its first byte
    assert (again.status, "goes on" in again.talk, again.out != ran.out) == (0, False, True), again.talk


@pytest.mark.slow
def test_unfinished_uploads_are_listed_and_deleted_with_files(shell: Shell) -> None:
    status = shell("status", "-o", "json").json
    with Client(status["url"], status["api_key"]) as client:
        begun = client.uploads.begin("large.csv", 1_000)
        client.send(uploads.append(begun.id, b"x" * 400))
        file = client.files.put(b"kept", name="kept.txt")
        listed = shell("files", "ls", "--unfinished", "--json").json["items"]
        assert [(each["id"], each["received"], each["size"]) for each in listed] == [(begun.id, 400, 1_000)]
        assert "large.csv" in shell("files", "ls", "--unfinished").out
        assert shell("files", "rm", begun.id, file.id).status == 0
        assert client.uploads.list().items == []
        assert file.id not in shell("files", "ls").out
    missing = shell("files", "rm", begun.id)
    assert (missing.status, f"There is no file {begun.id}" in missing.talk) == (3, True)
