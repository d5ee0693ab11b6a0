"""A user's terminal, for the tests of the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.forks import Ran, run

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("script.yaml")
DATA = "city,n\nOslo,1\nRome,2\nOslo,3\n"


@dataclass(frozen=True)
class Shell:
    """A user's terminal: a folder and an environment."""

    folder: Path
    env: Mapping[str, str]

    def __call__(self, *words: str, stdin: str | None = None, **env: str) -> Ran:
        return run("assay", words, {**self.env, **env}, self.folder, stdin)

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(words), cwd=self.folder, env=dict(self.env), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    @staticmethod
    def command(words: Sequence[str]) -> list[str]:
        return [sys.executable, "-P", "-m", "assay", *words]


def plain() -> dict[str, str]:
    """An environment that says nothing of other installations and providers."""
    foreign = ("ASSAY_", "DATABASE_URL", "REDIS_URL", "QDRANT_URL", "BLOB_URL", "GROQ_", "CEREBRAS_", "OPENAI_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**env, "ASSAY_PORT": "0", "ASSAY_CONFIG": str(ROOT / "no" / "profiles"), "PYTHONPATH": str(ROOT)}


def written(shell: Shell, name: str, text: str) -> str:
    """A file in the terminal's folder; its name."""
    (shell.folder / name).write_text(text)
    return name
