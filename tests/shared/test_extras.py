"""What is missing is installed by a command that works where Assay is: in a clone, or from wheels."""

from __future__ import annotations

from pathlib import Path

from shared.extras import how_to_install


def test_a_clone_is_set_up_by_make() -> None:
    root = Path(__file__).resolve().parents[2]
    assert how_to_install("cli") == f"in the clone {root} run `make venv`, then `. .venv/bin/activate`"
    assert "venv:" in (root / "Makefile").read_text("utf-8")


def test_wheels_are_installed_from_their_folder(tmp_path: Path) -> None:
    assert how_to_install("cli,mcp", tmp_path).startswith("pip install 'assaykit[cli,mcp]' --find-links DIR")
