"""``python -m assay`` and the `assay` script: the command, when what it needs is installed."""

from __future__ import annotations

import signal
import sys

from shared.extras import how_to_install


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # while modules load; the command then handles it
    try:
        from assay.command import main as command  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        if missing.name not in ("cyclopts", "rich"):
            raise
        sys.exit(f"The `assay` command needs {missing.name}: {how_to_install('cli')}")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


if __name__ == "__main__":
    main()
