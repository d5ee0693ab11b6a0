"""llama.cpp's server as a process, and what it says of itself."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

from services.host.installation import free_port
from tests.support.wait import until

WINDOW = 4096  #: tokens
_START_SECONDS = 120


class ModelServer:
    """One slot; the port stays the same when it is started again."""

    def __init__(self, binary: Path, model: Path, log: Path) -> None:
        self.port = free_port("127.0.0.1", 0)
        self.root = f"http://127.0.0.1:{self.port}"
        self._command = [binary, "-m", model, "-c", WINDOW, "-np", 1, "-t", 2, "--jinja", "--slots"]
        self._command += ["--alias", "smollm2", "--host", "127.0.0.1", "--port", self.port]
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{self.root}/v1"

    def start(self) -> float:
        """Seconds until it answers."""
        began = time.monotonic()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([*map(str, self._command)], stdout=log, stderr=log)
        until(self.is_ready, "the model server", _START_SECONDS)
        return time.monotonic() - began

    def kill(self) -> None:
        """With SIGKILL, in the middle of whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def is_ready(self) -> bool:
        try:
            return bool(self._get("/health").get("status") == "ok")
        except (URLError, OSError, ValueError):
            return False

    def is_busy(self) -> bool:
        """Return whether its slot is working on an answer."""
        return any(slot["is_processing"] for slot in self._get("/slots"))

    def ask(self, words: str, cap: int) -> None:
        """One streamed answer, read to its end, as a bare client of the standard library does it."""
        body = {"messages": [{"role": "user", "content": words}], "max_tokens": cap, "stream": True, "temperature": 0}
        headers = {"Content-Type": "application/json"}
        request = Request(f"{self.url}/chat/completions", json.dumps(body).encode(), headers)
        with urlopen(request, timeout=120) as response:
            response.read()

    def _get(self, path: str) -> Any:  # noqa: ANN401 - JSON
        with urlopen(f"{self.root}{path}", timeout=10) as response:
            return json.load(response)
