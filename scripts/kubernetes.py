"""The manifests for kustomize, as the Helm chart renders them: ``python -m scripts.kubernetes [--check]``."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
CHART = ROOT / "deploy" / "helm" / "assay"
TARGET = ROOT / "deploy" / "kubernetes"
_SETTINGS = ("createNamespaces=true", "migrate.hook=false")
_HEAD = "# Written by scripts/kubernetes.py from deploy/helm/assay: change that.\n"
_FILES = {"NetworkPolicy": "network", "Namespace": "namespace", "Job": "migrate", "PriorityClass": "priorities"}


def rendered(*settings: str, flags: Sequence[str] = ()) -> str:
    """Render the chart with ``helm template``. Raises: subprocess.CalledProcessError, FileNotFoundError."""
    words = [word for setting in settings for word in ("--set", setting)]
    helm = Path(sys.executable).with_name("helm")
    command = [helm if helm.exists() else "helm", "template", "assay", CHART, "--namespace", "assay", *words, *flags]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def files() -> dict[Path, str]:
    """Return each file and its text."""
    parts: defaultdict[Path, list[str]] = defaultdict(list)
    for document in re.split(r"^---\n", rendered(*_SETTINGS, flags=["--skip-tests"]), flags=re.MULTILINE):
        text = re.sub(r"^# Source: .*\n", "", document, flags=re.MULTILINE).strip("\n")
        content = yaml.safe_load(text)
        if content:
            parts[_file_of(content)].append(text + "\n")
    return {path: _HEAD + "---\n".join(texts) for path, texts in sorted(parts.items())}


def _file_of(content: dict[str, dict[str, str]]) -> Path:
    meta = content["metadata"]
    namespace = meta["name"] if str(content["kind"]) == "Namespace" else meta.get("namespace", "assay")
    name = _FILES.get(str(content["kind"]), meta["name"])
    return TARGET / ("execution" if namespace == "assay-execution" else "") / f"{name}.yaml"


def main() -> int:
    stale = {path: text for path, text in files().items() if not path.exists() or path.read_text() != text}
    if "--check" in sys.argv[1:]:
        for path in stale:
            print(f"stale: {path.relative_to(ROOT)}: run `python -m scripts.kubernetes`", file=sys.stderr)  # noqa: T201
        return 1 if stale else 0
    for path, text in stale.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
