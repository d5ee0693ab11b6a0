"""What the workers of a run share: the decision whether the console can be tested here, and one installation."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

import yaml

from console.build import built
from services.host.installation import DEMO_SCRIPT
from tests.assay.terminal import Shell, plain, written
from tests.console import browser as browsers
from tests.support.keeper import run_folder

ROOT = Path(__file__).resolve().parents[2]
_BUILD_SECONDS = 200
_PRIVATE = {"ASSAY_WEBHOOK_PRIVATE": "true"}  #: webhooks go to this machine only
#: Next to what the demonstration's models say: two that are down, each in its own way.
DOWN = [
    {"when": {"model": "^limited$"}, "fault": {"kind": "rate_limit", "headers": {"retry-after": "900"}}},
    {"when": {"model": "^broken$"}, "fault": "server_error"},
]
#: A model that insists on a result that does not come from the data.
INVENTED = [
    {
        "when": {"role": "execution.transform", "turn": 1, "any": "invent some"},
        "reply": '```python\nimport pandas as pd\nresult = pd.DataFrame({"city": ["Utopia"], "n": [5]})\n```',
    },
    {"when": {"role": "execution.transform", "any": "invent some"}, "reply": "DONE"},
]


class NotBuilt(Exception):
    """Why the console could not be built: its packages could not be fetched."""


@dataclass(frozen=True)
class Prepared:
    """What the tests of the console have on this machine, or why they lack it."""

    unbuilt: str = ""
    browser: browsers.Browser | None = None
    no_browser: str = ""


@contextmanager
def locked(path: Path) -> Iterator[IO[str]]:
    """Hold the lock of a file."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def prepared() -> Prepared:
    """Return what this run has; the first worker finds out."""
    with locked(run_folder() / "prepared.lock"):
        record = run_folder() / "prepared.json"
        if not record.exists():
            record.write_text(json.dumps(asdict(_prepare())))
        kept = json.loads(record.read_text())
    return Prepared(**{**kept, "browser": browsers.Browser(**kept["browser"]) if kept["browser"] else None})


def _prepare() -> Prepared:
    """Build the console and find a browser; do not query a registry again that did not answer."""
    unbuilt = ""
    try:
        build(ROOT / "console", *([] if built() else ["--keep"]))  # test_building needs the packages again
    except NotBuilt as reason:
        unbuilt = str(reason)
    try:
        return Prepared(unbuilt, browsers.find(fetch=not unbuilt))
    except browsers.NoBrowser as reason:
        return Prepared(unbuilt, no_browser=str(reason))


def build(console: Path, *options: str) -> Path:
    """Build the console of a folder with its sources. Raises: NotBuilt."""
    command = [sys.executable, str(console / "build.py"), "--strict", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as building:
        try:
            _, words = building.communicate(timeout=_BUILD_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(building.pid, signal.SIGKILL)
            raise NotBuilt(f"the console was not built within {_BUILD_SECONDS} s") from None
    if building.returncode != 0 and "could not get" in words:
        raise NotBuilt(f"the console cannot be built here: {words}")
    assert building.returncode == 0, words
    return console / "dist"


def installation() -> Shell:
    """Return the terminal of the run's installation; the first worker starts it, and it ends with the run."""
    folder = run_folder() / "console"
    shell = _shell(folder)
    with locked(run_folder() / "console.lock"):
        if not folder.exists():
            _start(shell)
    return shell


def _start(shell: Shell) -> None:
    shell.folder.mkdir(mode=0o755)
    script = yaml.safe_load(DEMO_SCRIPT.read_text())
    busy, *others = script["rules"]  # the first provider is busy once; here for each worker, and not for long
    script["rules"] = [
        *DOWN,
        *INVENTED,
        {"when": busy["when"], "fault": {"kind": "rate_limit", "headers": {"retry-after": "1"}}},
        *others,
        *yaml.safe_load(Path(__file__).with_name("models.yaml").read_text())["rules"],
    ]
    script["demo"] = False  # the tests' models say the same to everything
    ran = shell("up", "--demo", "--script", written(shell, "script.json", json.dumps(script)), "-d")
    assert ran.status == 0, ran.talk


def _shell(folder: Path) -> Shell:
    return Shell(folder, {**plain(), "ASSAY_HOME": str(folder / "home"), "ASSAY_PORT": "0", **_PRIVATE})
