"""``python -m assay`` and the `assay` script: the command, when what it needs is installed."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from assay.command import main as command  # noqa: PLC0415
    except ModuleNotFoundError as missing:
        if missing.name not in ("cyclopts", "rich"):
            raise
        sys.exit(f"the `assay` command needs {missing.name}: pip install 'assaykit[cli]'")
    command()


if __name__ == "__main__":
    main()
