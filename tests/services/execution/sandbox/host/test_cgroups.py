"""Where control groups can be made, on machines of both versions and on hybrids; and the settings of a group."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services.execution.sandbox.host import cgroups
from services.execution.sandbox.host.cgroups import Group, Hierarchy, find_hierarchies


def _machine(root: Path, mounts: list[str], own: str, controllers: str | None = None) -> list[tuple[str, int, str]]:
    (root / "mounts").write_text("".join(f"{line.format(root=root)}\n" for line in mounts))
    (root / "own").write_text(own)
    for folder in ("memory/job", "pids", "unified/job"):
        (root / folder).mkdir(parents=True)
    if controllers is not None:
        (root / "unified/job/cgroup.controllers").write_text(controllers)
    hierarchies = find_hierarchies(root / "mounts", root / "own")
    return [(each.controller, each.version, str(each.root.relative_to(root))) for each in hierarchies]


_V1 = [
    "cgroup {root}/memory cgroup rw,nosuid,memory 0 0",
    "cgroup {root}/pids cgroup rw,nosuid,pids 0 0",
]
_V2 = ["cgroup2 {root}/unified cgroup2 rw,nosuid 0 0"]


def test_version_1_has_a_folder_per_controller_and_in_a_container_the_mount_itself(tmp_path: Path) -> None:
    own = "4:memory:/job\n3:pids:/of/the/host\n0::/job\n"
    assert _machine(tmp_path, _V1, own) == [("memory", 1, "memory/job"), ("pids", 1, "pids")]


def test_version_2_has_one_folder_with_the_controllers_that_were_delegated(tmp_path: Path) -> None:
    assert _machine(tmp_path, _V2, "0::/job\n", "cpu pids\n") == [("pids", 2, "unified/job")]


def test_a_hybrid_machine_is_decided_per_controller(tmp_path: Path) -> None:
    hierarchies = _machine(tmp_path, [_V1[0], *_V2], "4:memory:/job\n0::/job\n", "pids memory\n")
    assert hierarchies == [("memory", 1, "memory/job"), ("pids", 2, "unified/job")]


def test_without_control_groups_there_are_none(tmp_path: Path) -> None:
    assert _machine(tmp_path, ["tmpfs / tmpfs rw 0 0"], "0::/\n") == []


@pytest.mark.parametrize("version", [1, 2])
def test_a_group_is_told_its_limits_in_the_words_of_its_version(tmp_path: Path, version: int) -> None:
    both = tuple(Hierarchy(controller, version, tmp_path) for controller in ("memory", "pids"))
    group = Group(both, "run")
    folder = tmp_path / "run"
    group.limit(64, 7)
    group.add(123)
    assert (folder / "pids.max").read_text() == "7"
    assert (folder / "cgroup.procs").read_text() == "123"
    name = "memory.max" if version == 2 else "memory.limit_in_bytes"
    assert (folder / name).read_text() == str(64 << 20)
    group.limit(128, 7)
    assert (folder / name).read_text() == str(128 << 20)
    (folder / "pids.events").write_text("max 3\n")
    events = "memory.events" if version == 2 else "memory.oom_control"
    (folder / events).write_text("oom 1\noom_kill 2\n")
    assert (group.counted().memory_kills, group.counted().refused_forks) == (2, 3)
    group.count_anew()
    (folder / "pids.events").write_text("max 4\n")
    assert (group.counted().memory_kills, group.counted().refused_forks) == (0, 1)


def test_a_folder_that_another_sweeps_too_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, left = tmp_path / "assay-999999991-a", tmp_path / "assay-999999992-b"
    for folder in (gone / "run", left / "run"):
        folder.mkdir(parents=True)
    listed = Path.iterdir

    def removed_first(folder: Path) -> Iterator[Path]:
        if folder == gone:
            (gone / "run").rmdir()
            gone.rmdir()
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", removed_first)
    cgroups._sweep(tmp_path)
    assert list(tmp_path.glob("*")) == []
