"""What the code knows of a job kind, a language or a vendor is in its table: no other code decides by their names."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from shared.contracts.shadows import ShadowInput
from shared.kinds import KINDS
from shared.languages import LANGUAGES
from shared.llm.vendors.table import VENDORS
from tests.services.execution.languages import toy_calc
from tests.services.gateway.jobs import toy_kind
from tests.shared.llm import toy_vendor

ROOT = Path(__file__).parents[2]
#: The tables themselves, and the guests inside the sandbox, which import nothing.
TABLES = {"shared/kinds.py", "shared/languages.py", "shared/llm/vendors/table.py"}
#: Names of other tables, which are words of this one too.
OTHER_TABLES = {
    "services/execution/transform/feedback.py": LANGUAGES,  # in which a model computes a second time
    "services/execution/transform/normal_form.py": LANGUAGES,  # which spellings of a model's code are the same
    "services/execution/transform/repairs.py": LANGUAGES,  # what is corrected in a model's code
    "services/stacks": LANGUAGES,  # the technologies of source trees
    "services/search/embed": VENDORS,  # families of embedding models
    "shared/contracts/search.py": VENDORS,
    "services/host": KINDS,  # the process table and the demo
    "shared/contracts/shadows.py": KINDS,  # compared with the table below
}
SAMPLE = """
if job.kind == "{0}" or language in ("{0}", "{1}"):
    pass
RULES = {{"{0}": 1, "{1}": 2}}
Names = Literal["{0}", "{1}"]
match kind:
    case "{0}":
        pass
"""


def _decisions(tree: ast.AST, names: Collection[str]) -> Iterator[int]:
    """Lines that compare with a name, or that list or map names."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left, _, others):
                lines = [side.lineno for side in (left, *others) if _is_name(side, names)]
                if lines and any(_subject(side) for side in (left, *others)):
                    yield from lines
            case ast.MatchValue(value) if _is_name(value, names):
                yield node.lineno
            case ast.List(elements) | ast.Tuple(elements) | ast.Set(elements):
                if sum(_is_name(element, names) for element in elements) >= 2:
                    yield node.lineno
            case ast.Dict(keys) if len(keys) >= 2 and all(key is not None and _is_name(key, names) for key in keys):
                yield node.lineno


def _is_name(node: ast.expr, names: Collection[str]) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names


def _subject(node: ast.expr) -> bool:
    """Whether the expression is called a kind, a language or a vendor."""
    return re.search(r"(kind|language|kernel|reader|vendor|provider)('\])?$", ast.unparse(node)) is not None


def _own_folders(names: Collection[str]) -> set[str]:
    """The folder of a row may name it."""
    if names is KINDS:
        return {f"services/{kind.service}/" for kind in KINDS.values()}
    return {f"services/execution/languages/{name}/" for name in names}


@pytest.mark.parametrize("table", [KINDS, LANGUAGES, VENDORS], ids=["kinds", "languages", "vendors"])
def test_no_code_outside_the_table_decides_by_the_names_of_its_rows(table: Collection[str]) -> None:
    own = _own_folders(table) | {file for file, other in OTHER_TABLES.items() if other is table} | TABLES
    written = re.compile(rf'"(?:{"|".join(table)})"')
    lines = [
        f"{file}:{line}"
        for package in ("assay", "services", "shared")
        for path in sorted((ROOT / package).rglob("*.py"))
        if not (file := str(path.relative_to(ROOT))).startswith(tuple(own)) and written.search(text := path.read_text())
        for line in _decisions(ast.parse(text), set(table))
    ]

    assert lines == []


def test_the_search_for_names_sees_every_form() -> None:
    tree = ast.parse(SAMPLE.format("python", "r"))

    assert sorted(_decisions(tree, set(LANGUAGES))) == [2, 2, 4, 5, 7]


def test_the_kinds_that_can_be_shadowed_are_those_of_the_table() -> None:
    schema = ShadowInput.model_json_schema()

    assert set(schema["$defs"]["ShadowKind"]["enum"]) == {kind.name for kind in KINDS.values() if kind.shadowed}


def test_the_rows_of_plugins_are_known_wherever_the_table_is_read() -> None:
    program = f"""
import json
from shared.plugins import load_plugins
load_plugins({[toy_kind.__name__, toy_calc.__name__, toy_vendor.__name__]})
from assay.mcp.inputs import ListJobs, RunCode
from services.execution.documents.notebooks.writing import kernel_of
from services.execution.languages.table import analysis_of
from shared.kinds import KINDS, case_name
from shared.languages import language_of_file, language_of_word
from shared.llm.vendors.table import key_variables
print(json.dumps([
    "translate" in ListJobs.model_json_schema()["properties"]["kind"]["anyOf"][0]["enum"],
    ListJobs(kind="translate").kind,
    RunCode(language="calc", code="1").language,
    kernel_of(language_of_word("sums").name).name,
    language_of_file("a.calc").title,
    sorted(analysis_of("calc").names("a = b").sets),
    case_name({{"kind": "translate", "input": {{"text": "Good morning"}}}}, set()),
    key_variables(),
]))
"""
    printed = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    keys = "GROQ_API_KEY, CEREBRAS_API_KEY, ANTHROPIC_API_KEY, OPENAI_API_KEY or TOY_API_KEY"
    names = ["translate", "calc", "calc", "Calc", ["a"], "Good morning"]
    assert json.loads(printed.stdout) == [True, *names, keys]
