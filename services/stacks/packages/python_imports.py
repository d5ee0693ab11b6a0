"""Python web applications without a manifest: what their main file imports is what they depend on."""

from __future__ import annotations

import re

from services.stacks.manifests.model import Manifest
from services.stacks.packages.package import Package
from services.stacks.scan.model import Scan
from services.stacks.tree import HEAD_BYTES, ancestors, join

#: Kind of a pseudo manifest that holds a file's imports.
IMPORTS = "imports"
_MAIN = ("app.py", "main.py", "wsgi.py", "asgi.py", "server.py", "application.py", "run.py")
_MAX_READ = 200
_MADE = re.compile(
    r"(?m)^[A-Za-z_]\w{0,80}[ \t]*(?::[^=\n]{0,80})?=[ \t]*(?:\w{1,80}\.)?"
    r"(Flask|FastAPI|Starlette|Sanic|Quart|Litestar|Bottle|Dash)\("
)
_IMPORTED = r"(?m)^(?:from[ \t]+{name}\b|import[ \t]+{name}\b)"


def add_imported(scan: Scan, packages: dict[str, Package]) -> None:
    """Add one package per folder, except in or below a folder with a manifest."""
    read = 0
    for path, folder in scan.folders.items():
        if "Python" not in folder.sources or folder.test or folder.fixture or folder.aside:
            continue
        here = packages.get(path)
        if any(packages[above].manifests for above in ancestors(path) if above in packages):
            continue
        for name in _MAIN:
            if name not in folder.files or read >= _MAX_READ:
                continue
            read += 1
            manifest = _imports(join(path, name), scan.tree.text(join(path, name), HEAD_BYTES) or "")
            if manifest is not None:
                package = here or Package(path, [], folder.files, markers=folder.markers)
                package.manifests.append(manifest)
                packages[path] = package
                break


def _imports(path: str, text: str) -> Manifest | None:
    made = _MADE.search(text)
    if made is None:
        return None
    name = made[1].lower()
    imported = re.search(_IMPORTED.format(name=name), text)
    if imported is None:
        return None
    manifest = Manifest(path, IMPORTS, "pypi", text, weak=True)
    manifest.depend(name, None, "prod", imported.start())
    return manifest
