"""Stack detection compared with its npm peers, on the same trees in one run: ``python -m benchmarks.stacks [--peers]``.

``--peers`` installs the peers from npm into a temporary folder; without it, only our own figures are printed.
"""

from __future__ import annotations

import io
import json
import os
import random
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.stacks_trees import SHAPES, write_shape
from services.stacks.engine import DetectOptions, StackEngine
from services.stacks.garbage_collection import collect_rarely
from services.stacks.manifests.kinds import kind_of
from services.stacks.selector import ArchiveSelector
from services.stacks.sources.archive import open_archive
from services.stacks.sources.collector import SourceLimits
from services.stacks.sources.compression import plain_blocks
from services.stacks.sources.local import open_folder

PEERS = {"stack-analyser": "@specfy/stack-analyser", "build-info": "@netlify/build-info", "linguist-js": "linguist-js"}
SMALL = {
    "express": {"package.json": '{"name":"a","scripts":{"start":"node ."},"dependencies":{"express":"4"}}', "package-lock.json": "{}"},
    "next": {"package.json": '{"dependencies":{"next":"14","react":"18"},"devDependencies":{"typescript":"5"}}', "tsconfig.json": "{}", "yarn.lock": ""},
    "fastapi": {"pyproject.toml": '[project]\nname="a"\ndependencies=["fastapi"]\n', "uv.lock": "", ".python-version": "3.12"},
    "django": {"requirements.txt": "django==5\npsycopg2\n", "manage.py": "import os\n", "Dockerfile": "FROM python:3.12\nEXPOSE 8000\n"},
    "spring": {"pom.xml": "<project><artifactId>a</artifactId><dependencies><dependency><groupId>org.springframework.boot</groupId><artifactId>spring-boot-starter-web</artifactId></dependency></dependencies></project>"},
    "gin": {"go.mod": "module a\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1\n", "main.go": "package main\n"},
    "axum": {"Cargo.toml": '[package]\nname="a"\n[dependencies]\naxum="0.7"\n', "src/main.rs": "fn main() {}\n"},
    "rails": {"Gemfile": "gem 'rails'\n", "config/application.rb": "1\n", "Gemfile.lock": ""},
}  # fmt: skip
_ENDINGS = {
    "express": "js",
    "next": "tsx",
    "fastapi": "py",
    "django": "py",
    "spring": "java",
    "gin": "go",
    "axum": "rs",
    "rails": "rb",
}


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def small_trees(base: Path) -> list[Path]:
    """Eight repositories of about 40 files."""
    roots = []
    for name, files in SMALL.items():
        sources = {f"src/part{n % 5}/file{n}.{_ENDINGS[name]}": f"// part {n}\n" * 40 for n in range(36)}
        write(base / name, {**files, **sources, "README.md": "# a\n"})
        roots.append(base / name)
    return roots


def large_tree(root: Path, packages: int) -> None:
    """10,000 files in 3,300 folders."""
    chance = random.Random(7)
    for number in range(550):
        base = root / f"group{number % 20}" / f"package{number}"
        for folder in ("", "src", "src/lib", "src/util", "test", "notes"):
            (base / folder).mkdir(parents=True, exist_ok=True)
            for part in range(3):
                ending = chance.choice(("js", "ts", "py", "json", "md", "css", "go", "rs", "java", "txt", "png"))
                (base / folder / f"file{part}.{ending}").write_text("x = 1\n" * chance.randint(10, 2000))
        if number < packages:
            (base / "package.json").write_text(
                json.dumps({"name": f"p{number}", "main": "index.js", "dependencies": {"koa": "2"}})
            )


def best(run: Callable[[], object], repeat: int = 5) -> float:
    """Milliseconds of the fastest turn."""
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return min(taken) * 1000


def walk(root: Path) -> int:
    """Return the bare directory walk that everything is measured against."""
    count, stack = 0, [str(root)]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                else:
                    count += 1
    return count


def peer_times(
    names: Sequence[str], folders: Sequence[Path], base: Path, repeat: int
) -> dict[str, dict[str, list[float] | None]]:
    home = base / "peers"
    if not home.exists():
        home.mkdir()
        (home / "package.json").write_text('{"type": "module", "private": true}')
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", *PEERS.values()], cwd=home, check=True)
        (home / "peers.mjs").write_bytes(Path(__file__).with_name("stacks_peers.mjs").read_bytes())
    asked = json.dumps({"peers": list(names), "repeat": repeat, "folders": [str(folder) for folder in folders]})
    done = subprocess.run(["node", "peers.mjs", asked], cwd=home, check=True, capture_output=True, text=True)
    times: dict[str, dict[str, list[float] | None]] = json.loads(done.stdout.splitlines()[-1])
    return times


def small(engine: StackEngine, base: Path, peers: bool) -> None:
    roots = small_trees(base / "small")
    ours = [best(lambda root=root: engine.detect(open_folder(root, 10_000)), 20) for root in roots]  # type: ignore[misc]
    print(f"small repositories (8 x 38 files), median of the best of 20, in-process: {statistics.median(ours):.2f} ms")
    if peers:
        for name, times in peer_times(list(PEERS), roots, base, 20).items():
            fastest = [min(taken) for taken in times.values() if taken]
            if fastest:
                print(
                    f"  {name:15} {statistics.median(fastest):8.2f} ms   {statistics.median(fastest) / statistics.median(ours):6.1f}x ours"
                )


def large(engine: StackEngine, base: Path, peers: bool) -> None:
    for packages in (20, 550):
        root = base / f"large{packages}"
        large_tree(root, packages)
        bare = best(lambda root=root: walk(root))  # type: ignore[misc]
        ours = best(lambda root=root: engine.detect(open_folder(root, 1_000_000)))  # type: ignore[misc]
        print(
            f"10,000 files, {packages} packages: bare walk {bare:.1f} ms, detection {ours:.1f} ms = walk + {ours - bare:.1f} ms ({ours / bare:.1f}x)"
        )
        if peers and packages == 550:
            for name, times in peer_times(["stack-analyser"], [root], base, 1).items():
                taken = times[str(root)]
                if taken:
                    print(f"  {name:15} {min(taken):8.0f} ms   {min(taken) / ours:6.1f}x ours")


def shaped(engine: StackEngine, base: Path) -> None:
    """Trees as large real ones are, with ignore files; turn by turn, so that what else runs slows all of them down."""
    for shape in SHAPES:
        root = base / shape.replace(" ", "-")
        files = write_shape(root, shape)
        bare, read, ours = (min(taken) for taken in zip(*(_turn(engine, root) for _ in range(5)), strict=True))
        print(
            f"{shape:15} {files:6,} files: bare walk {bare:6.1f} ms, and its manifests read {read:6.1f}; detection {ours:6.1f} ms "
            f"= {ours / bare:.1f}x and {ours / read:.1f}x"
        )


def _turn(engine: StackEngine, root: Path) -> tuple[float, float, float]:
    """Milliseconds of this thread on a processor: the bare walk, the walk with every manifest read, detection."""
    runs = (lambda: walk(root), lambda: read_manifests(root), lambda: engine.detect(open_folder(root, 1_000_000)))
    taken = []
    for run in runs:
        began = time.thread_time()
        run()
        taken.append((time.thread_time() - began) * 1000)
    return taken[0], taken[1], taken[2]


def read_manifests(root: Path) -> int:
    count, stack = 0, [str(root)]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif kind_of(entry.name) is not None:
                    count += len(Path(entry.path).read_bytes())
    return count


def packed_sources() -> bytes:
    """Return a tar.gz of about 30 MB that packs as source code does."""
    chance = random.Random(3)
    words = [f"word{chance.randint(0, 9999)}" for _ in range(4000)]
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as target:
        for number in range(7800):
            body = " ".join(chance.choice(words) for _ in range(1700)).encode()
            entry = tarfile.TarInfo(f"top/package{number % 300}/src/file{number}.ts")
            entry.size = len(body)
            target.addfile(entry, io.BytesIO(body))
    return buffer.getvalue()


def archive(engine: StackEngine) -> None:
    body = packed_sources()

    def unpack() -> None:
        for _ in plain_blocks(io.BytesIO(body), "gz", SourceLimits()):
            pass

    bare = best(unpack, 3)
    ours = best(
        lambda: engine.detect(
            open_archive(io.BytesIO(body), ArchiveSelector(engine.tables), SourceLimits()), DetectOptions()
        ),
        3,
    )
    print(
        f"tar.gz of {len(body) / 1e6:.0f} MB: decompressing {bare:.0f} ms, detection {ours:.0f} ms = {ours / bare:.2f}x"
    )


def main() -> None:
    engine = StackEngine()
    collect_rarely()  # as the worker does
    peers = "--peers" in sys.argv
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        base = Path(folder)
        small(engine, base, peers)
        large(engine, base, peers)
        shaped(engine, base)
        archive(engine)


if __name__ == "__main__":
    main()
