"""`assay up`, `down`, `status`, `scripted-llm`: the installation on this machine. They become another program."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated, Literal, NoReturn

from cyclopts import Parameter

from assay.commands.session import current
from assay.installations import home_of
from shared.extras import how_to_install


def up(
    *,
    demo: Annotated[bool, Parameter(help="Answer model calls with a script, not a provider", negative="")] = False,
    detach: Annotated[bool, Parameter(name=["-d", "--detach"], help="Return when ready", negative="")] = False,
    script: Annotated[Path | None, Parameter(help="The script that --demo plays")] = None,
) -> None:
    """Start Assay on this machine and keep it running; prints URL, key, and a first request."""
    words = [*(["--demo"] if demo else []), *(["--detach"] if detach else [])]
    _become("services.host", "up", *words, *(["--script", str(script)] if script else []))


def upgrade(
    *,
    demo: Annotated[bool, Parameter(help="As for up", negative="")] = False,
    script: Annotated[Path | None, Parameter(help="As for up")] = None,
    backup: Annotated[Path | None, Parameter(help="The file of the backup; else below ASSAY_HOME")] = None,
    no_backup: Annotated[bool, Parameter(help="Make no backup", negative="")] = False,
    other_settings: Annotated[bool, Parameter(help="Start with those of this shell", negative="")] = False,
) -> None:
    """Bring the installation to the version of this command: back up, stop, migrate, start."""
    flags = {"--demo": demo, "--no-backup": no_backup, "--other-settings": other_settings}
    files = {"--script": script, "--backup": backup}
    words = [flag for flag, is_set in flags.items() if is_set]
    words += [word for flag, file in files.items() if file is not None for word in (flag, str(file.absolute()))]
    _become("services.host", "upgrade", *words, home=home_of(os.environ))


def down() -> None:
    """Stop Assay on this machine."""
    _become("services.host", "down", home=home_of(os.environ))


def backup(file: Annotated[Path, Parameter(help="Backup file to write")]) -> None:
    """Keep everything (tables, files, the search store) in one file, while Assay runs."""
    _become("services.host", "backup", str(file), home=home_of(os.environ))


def restore(
    file: Annotated[Path, Parameter(help="Backup file to restore")],
    *,
    replace: Annotated[bool, Parameter(help="Delete what this installation holds", negative="")] = False,
) -> None:
    """Bring a backup back into an installation that does not run."""
    _become("services.host", "restore", str(file), *(["--replace"] if replace else []), home=home_of(os.environ))


_StatusFormat = Literal["text", "json", "env"]


def status(
    *,
    format: Annotated[_StatusFormat, Parameter(help="env prints variables for a shell to evaluate")] = "text",
    output: Annotated[_StatusFormat | None, Parameter(name=["-o", "--output"], show=False)] = None,
) -> None:
    """Show what runs; exits with 5 until everything is ready."""
    shown = "json" if current().json else output or format
    _become("services.host", "status", "-o", shown, home=home_of(os.environ))


def scripted_llm(
    script: Annotated[Path | None, Parameter(help="YAML or JSON; without it every request is refused")] = None,
    *,
    port: Annotated[int, Parameter(help="0 takes a free one and prints it")] = 0,
) -> None:
    """Serve scripted model replies over the providers' own wire formats, for tests and demonstrations."""
    words = ["--port", str(port), *(["--script", str(script)] if script else [])]
    _become("shared.llm.scripted", *words)


def _present(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _server_root(module: str) -> Path | None:
    """Return the folder that holds the server: this source tree, or the package of the server's wheel."""
    if _present(module):
        return Path(__file__).resolve().parents[2]
    installed = importlib.util.find_spec("assay_server")
    return Path(installed.origin).parent if installed is not None and installed.origin is not None else None


def _become(module: str, *words: str, home: Path | None = None) -> NoReturn:
    """Continue as another program of this source tree, or of the installed server."""
    root = _server_root(module)
    if root is None:
        sys.exit(f"assay: only the client is installed here. Install the server: {how_to_install('server')}")
    path = ":".join(filter(None, [str(root), os.environ.get("PYTHONPATH")]))
    sys.stdout.flush()
    environment = {**os.environ, "PYTHONPATH": path, **({"ASSAY_HOME": str(home)} if home is not None else {})}
    os.execve(sys.executable, [sys.executable, "-P", "-m", module, *words], environment)  # noqa: S606
