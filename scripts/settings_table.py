"""``python -m scripts.settings_table``: write docs/settings.md, and the names of all settings, from their classes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

from shared.llm.settings import ProviderSettings
from shared.llm.vendors.spec import EnvironmentVariable
from shared.llm.vendors.table import VENDORS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "settings.md"
NAMES = ROOT / "shared" / "setting_names.py"
_NAMES_HEAD = '"""Names of all settings, written by `make generate` from the settings classes."""\n\n'
#: Set by the processes for each other, never by an operator.
_INTERNAL = frozenset({"ASSAY_READY_FILE", "ASSAY_LOCAL_PATHS", "ASSAY_EMBEDDED", "ASSAY_PARSERS_SOCKET"})
_HEAD = """# Settings

Environment variables, read once when a process starts. Model providers are all that most installations need to set.
This page is written by `make generate` from the settings classes.
"""


def main() -> None:
    PAGE.write_text(page(), "utf-8")
    NAMES.write_text(names(), "utf-8")


def page() -> str:
    """Return a table of the vendors' variables, and one per settings class under the first line of its docstring."""
    parts = [_HEAD, _table(ProviderSettings, _vendor_rows())]
    seen = {variable.name for variable in _vendor_variables()}
    for settings in _classes():
        # A variable that several processes read is listed once, as the first of them describes it.
        rows = [(name, line) for name, line in _rows(settings) if name not in seen]
        seen |= {name for name, _ in rows}
        if not rows:
            continue
        parts.append(_table(settings, [line for _, line in rows]))
    return "".join(parts)


def names() -> str:
    """Return a module with the name of every variable that begins with ASSAY_; also those that processes set."""
    named = {name for settings in _classes() for name in _variables(settings)}
    lines = "".join(f'        "{name}",\n' for name in sorted(named) if name.startswith("ASSAY_"))
    return f"{_NAMES_HEAD}SETTING_NAMES = frozenset(\n    {{\n{lines}    }}\n)\n"


def _variables(settings: type[BaseSettings]) -> Iterator[str]:
    prefix = settings.model_config.get("env_prefix", "")
    for name, field in settings.model_fields.items():
        alias = field.validation_alias
        yield from map(str, alias.choices) if isinstance(alias, AliasChoices) else [f"{prefix}{name}".upper()]


def _table(settings: type, lines: Iterable[str]) -> str:
    title = (settings.__doc__ or settings.__name__).split("\n")[0].rstrip(".").replace("``", "`")
    head = f"\n## {title}\n\n| variable | default | what it is |\n|---|---|---|\n"
    return head + "".join(f"{line}\n" for line in lines)


def _vendor_rows() -> Iterator[str]:
    for variable in _vendor_variables():
        default = f"`{variable.default}`" if variable.default else ""
        yield f"| `{variable.name}` | {default} | {_escaped(variable.description)} |"


def _vendor_variables() -> Iterator[EnvironmentVariable]:
    for vendor in VENDORS.values():
        variables = vendor.variables
        yield from filter(None, (variables.api_key, variables.base_url, variables.model))


def _rows(settings: type[BaseSettings]) -> Iterator[tuple[str, str]]:
    prefix = settings.model_config.get("env_prefix", "")
    for name, field in settings.model_fields.items():
        variable = f"{prefix}{name}".upper()
        if variable not in _INTERNAL and field.description:
            yield variable, f"| `{variable}` | {_default(field)} | {_escaped(field.description)} |"


def _classes() -> Iterator[type[BaseSettings]]:
    """Yield every settings class of the tree: model calls first, then those of `assay up`, then by module."""
    files = sorted(file for folder in ("services", "shared") for file in (ROOT / folder).rglob("*.py"))
    files.sort(key=lambda file: file.relative_to(ROOT).parts[1] != "host")
    files.sort(key=lambda file: file.relative_to(ROOT).parts[1] != "llm")
    for file in files:
        if re.search(r"\((BaseSettings)\)", file.read_text("utf-8")):
            module = importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
            for value in vars(module).values():
                if isinstance(value, type) and issubclass(value, BaseSettings) and value.__module__ == module.__name__:
                    yield value


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is PydanticUndefined or value is None or value == "":
        return ""
    return f"`{value}`"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
