"""What a language is to the sandbox: one row that says how it runs inside and how values cross."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from services.execution.sandbox.analysis import Analysis
from services.execution.sandbox.codec import Codec
from shared.languages import Language

GUEST_ROOT = "/runtime/guest"  #: where the code that runs inside is imported from


@dataclass(frozen=True)
class Guest:
    """The part that runs inside: a module in a fork of the warm interpreter, or a program of its own."""

    packages: tuple[str, ...]  #: dotted; their folders are visible inside, read-only
    module: str | None = None  #: has ``serve(requests, replies)``, which answers until the requests end
    command: tuple[str, ...] = ()  #: without a module: the program and its arguments
    threads: int = 0  #: that the interpreter starts on its own account, beyond the first


@dataclass(frozen=True)
class LanguageSpec:
    language: Language
    versions: Callable[[], str | None]  #: what is installed here; ``None``: nothing
    install: str  #: what to install where it is missing
    guest: Guest
    codec: Codec
    #: How a table reaches it: as an open Arrow file that it maps, or as a file that the codec writes for it.
    frames: Literal["mapped", "written"] = "mapped"
    warm: tuple[str, ...] = ()  #: modules that the warm interpreter loads before its first fork
    analysis: Analysis = field(default_factory=Analysis)
    pooled: int | None = 1  #: containers kept ready; ``None``: as many as the settings say

    @property
    def name(self) -> str:
        return self.language.name

    @property
    def extension(self) -> str:
        return self.language.extensions[0]


LanguageSpecs = Mapping[str, LanguageSpec]


def path_inside(package: str, file: str) -> str:
    """Where a file of a guest package stands inside."""
    return f"{GUEST_ROOT}/{package.replace('.', '/')}/{file}"


def version_of(program: Path) -> str | None:
    """What ``program --version`` says; ``None`` where the program is missing or broken."""
    if not program.exists():
        return None
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    number = re.search(r"\d+(\.\d+)+", answer.stdout)
    return number.group() if number else None
