"""``python -m scripts.lock_images``: what each image installs, cut from requirements.lock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from services.host.processes import PROCESSES

ROOT = Path(__file__).resolve().parent.parent
#: Folder of the image under deploy/ -> the extras that it carries.
IMAGES: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        image.removeprefix("assay-"): [process.extra for process in PROCESSES if process.image == image]
        for image in sorted({process.image for process in PROCESSES})
    }
)


def main() -> None:
    for folder, extras in IMAGES.items():
        wanted = [part for extra in extras for part in ("--extra", extra)]
        options = ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-emit-index-url"]
        quiet = ["--no-header", "--quiet", "--no-annotate", "--constraint", "requirements.lock"]
        target = f"deploy/{folder}/requirements.lock"
        uv = Path(sys.executable).with_name("uv")
        subprocess.run(
            [uv, "pip", "compile", "pyproject.toml", *wanted, *options, *quiet, "-o", target], cwd=ROOT, check=True
        )


if __name__ == "__main__":
    main()
