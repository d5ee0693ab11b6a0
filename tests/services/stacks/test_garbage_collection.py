"""The collector runs rarely, because detections leave nothing for it."""

import gc
import subprocess
import sys

import pytest

from services.stacks.engine import StackEngine
from tests.services.stacks.trees import tree_of


@pytest.mark.slow
def test_a_detection_of_many_packages_leaves_no_circles_of_references_behind() -> None:
    engine = StackEngine()
    files = {
        f"packages/p{number}/{name}": text
        for number in range(40)
        for name, text in (
            ("package.json", '{"name": "p", "dependencies": {"express": "4", "pg": "8"}}'),
            ("pom.xml", "<project><artifactId>a</artifactId></project>"),
            ("src/index.ts", "export const a = 1\n"),
        )
    }
    tree = tree_of(files)
    gc.collect()
    gc.disable()
    try:
        result, _ = engine.detect(tree)
        assert len(result.services) == 40
        del result
        assert gc.collect() < 40  # objects; each package has hundreds
    finally:
        gc.enable()


def test_the_worker_collects_rarely_and_never_looks_at_its_tables_again() -> None:
    program = (
        "import gc; from services.stacks.garbage_collection import collect_rarely; collect_rarely(); "
        "print(gc.get_threshold()[0], gc.get_freeze_count() > 0)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout == "200000 True\n"


def test_what_jobs_leave_behind_is_collected_between_them() -> None:
    program = (
        "import gc; from services.stacks.garbage_collection import collect_between_jobs, collect_rarely; collect_rarely()\n"
        "class Circle:\n"
        "    def __init__(self): self.own = self\n"
        "for _ in range(100_000):\n"
        "    Circle(); collect_between_jobs()\n"
        "print(sum(type(each) is Circle for each in gc.get_objects()))"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(told.stdout) <= 20_000  # 100,000 otherwise
