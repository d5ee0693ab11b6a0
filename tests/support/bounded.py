"""Runs a snippet on a hostile text with little memory and processor time, whatever else the machine does."""

from __future__ import annotations

import resource
import subprocess
import sys
import textwrap
from pathlib import Path

_PRELUDE = "import sys\ntext = open(sys.argv[1], encoding='utf-8', errors='surrogateescape').read()\n"


def assert_reads(code: str, text: str, folder: Path, *, cpu_seconds: int = 10, memory_mb: int = 1500) -> str:
    """What the snippet prints; it finds the text in ``text``. It has to end well, within the bounds."""
    (folder / "text").write_text(text, encoding="utf-8", errors="surrogateescape", newline="")

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory_mb << 20, memory_mb << 20))

    program = _PRELUDE + textwrap.dedent(code)
    process = subprocess.run(
        [sys.executable, "-c", program, folder / "text"], capture_output=True, text=True, preexec_fn=bound, check=False
    )
    assert process.returncode == 0, process.stderr[-2000:] or f"it was ended: {process.returncode}"
    return process.stdout
