"""Ignore files leave out what git leaves out, and none of them makes a detection slow."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from services.stacks.scan.ignore import ignored
from services.stacks.tree import ancestors, parent
from tests.services.stacks.trees import Files, as_bytes, tree_of

FILES = (
    "a.log",
    "keep.log",
    "src/a.log",
    "src/a.py",
    "build/x.py",
    "src/build/x.py",
    "src/deep/er/b.tmp",
    "with space",
)


def left_out(files: Files) -> set[str]:
    """Every file that is ignored, by itself or with a folder around it."""
    folders, names = ignored(tree_of(files))
    return {path for path in files if path in names or any(above in folders for above in ancestors(parent(path)))}


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("*.log\n", {"a.log", "keep.log", "src/a.log"}),
        ("/*.log\n", {"a.log", "keep.log"}),
        ("*.log\n!keep.log\n", {"a.log", "src/a.log"}),
        ("build/\n", {"build/x.py", "src/build/x.py"}),
        ("/build\n", {"build/x.py"}),
        ("build/\n!build/x.py\n", {"build/x.py", "src/build/x.py"}),
        ("src/**/b.tmp\n", {"src/deep/er/b.tmp"}),
        ("**/er\n", {"src/deep/er/b.tmp"}),
        ("src/*\n!src/a.py\n", {"src/a.log", "src/build/x.py", "src/deep/er/b.tmp"}),
        ("[ab].log\n", {"a.log", "src/a.log"}),
        ("[!a].log\n", set()),
        ("with space\n", {"with space"}),
        ("# *.log\n\n", set()),
        ("a.log   \n", {"a.log", "src/a.log"}),
        ("[[:nonsense:\n!\na\\\n*.tmp\n", {"src/deep/er/b.tmp"}),
    ],
)
def test_the_last_pattern_that_matches_decides(text: str, out: set[str]) -> None:
    assert left_out({**dict.fromkeys(FILES, "x"), ".gitignore": text}) == out


def test_a_nearer_ignore_file_decides_over_one_above_it() -> None:
    files = {".gitignore": "*.log\n", "src/.gitignore": "!a.log\n", "src/a.log": "", "src/b.log": "", "a.log": ""}
    assert left_out(files) == {"a.log", "src/b.log"}


def test_an_ignore_file_speaks_for_its_own_folder_only() -> None:
    assert left_out({"src/.gitignore": "/*.log\n", "a.log": "", "src/a.log": "", "src/deep/a.log": ""}) == {"src/a.log"}


def test_a_long_ignore_file_is_one_list() -> None:
    text = "".join(f"no-such-{number}\n" for number in range(250)) + "*.log\n" + "also-not\n" * 120 + "!keep.log\n"
    assert left_out({**dict.fromkeys(FILES, "x"), ".gitignore": text}) == {"a.log", "src/a.log"}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("line", ["*a" * 200, "?" * 400, "*a" * 9 + "b", "**/a" * 9, "[a-z0-9_]" * 19])
def test_patterns_that_are_written_to_cost_much_are_bounded(line: str) -> None:
    name = "/".join(["a" * 200] * 5)
    assert left_out({".gitignore": f"{line}\n" * 3000, name: "", "b.log": ""}) == set()


PARTS = ("*", "**", "a", "b", "ab", "*.log", "?", "a*", "*b", "[ab]", "[!a]", "[a-c]*", "x y", r"\#h", r"\!n", "build")
NAMES = ("a", "b", "ab", "abc", "x.log", "y.log", "x y", "#h", "!n", "build", "a.b")


def random_pattern(chance: random.Random) -> str:
    path = "/".join(chance.choice(PARTS) for _ in range(chance.randint(1, 3)))
    end = "" if path.endswith("**") else chance.choice(["", "", "/", " "])  # pathspec lets a/**/ match files of a too
    return chance.choice(["", "", "", "!"]) + chance.choice(["", "", "/"]) + path + end


def random_files(chance: random.Random) -> dict[str, str]:
    files: dict[str, str] = {}
    for _ in range(50):
        path = "/".join(chance.choice(NAMES) for _ in range(chance.randint(1, 4)))
        if not any(f"{one}/".startswith(f"{path}/") or path.startswith(f"{one}/") for one in files):
            files[path] = ""
    folders = sorted({"", *(parent(path) for path in files)})
    for folder in chance.sample(folders, min(len(folders), 3)):
        lines = [random_pattern(chance) for _ in range(chance.randint(1, 5))]
        files[f"{folder}/.gitignore".lstrip("/")] = "\n".join(lines) + "\n"
    return files


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(25))
def test_git_leaves_out_the_same_files(tmp_path: Path, seed: int) -> None:
    files = random_files(random.Random(seed))
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(as_bytes(content))
    asked = "\0".join(path for path in files if not path.endswith(".gitignore"))
    command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "-z", "--stdin"]
    told = subprocess.run(command, input=asked, capture_output=True, text=True, check=False).stdout
    out = {path for path in left_out(files) if not path.endswith(".gitignore")}
    assert out == set(told.split("\0")) - {""}, {path: text for path, text in files.items() if text}
