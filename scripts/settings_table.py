"""``python -m scripts.settings_table``: write the table of settings into README.md, from the settings classes."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from pydantic_settings import BaseSettings

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BEGIN, END = "<!-- settings: make docs -->", "<!-- end of settings -->"
#: What processes tell each other, which nobody has to set.
_INTERNAL = frozenset({"ASSAY_READY_FILE", "ASSAY_LOCAL_PATHS", "ASSAY_EMBEDDED"})


def main() -> None:
    README.write_text(with_table(README.read_text("utf-8")), "utf-8")


def with_table(text: str) -> str:
    """The README with the present table between its marks."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"README.md has no {BEGIN} ... {END}")
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def table() -> str:
    """One line a variable; one that several processes read stands once, as the first of them describes it."""
    lines = ["| variable | default | what it is |", "|---|---|---|"]
    seen: set[str] = set(_INTERNAL)
    for settings in _classes():
        prefix = settings.model_config.get("env_prefix", "")
        for name, field in settings.model_fields.items():
            variable = f"{prefix}{name}".upper()
            if variable not in seen and field.description:
                seen.add(variable)
                lines.append(f"| `{variable}` | {_default(field)} | {_escaped(field.description)} |")
    return "\n".join(lines)


def _classes() -> Iterator[type[BaseSettings]]:
    """Every settings class of the tree: what `assay up` reads first, then by module."""
    files = sorted(file for folder in ("services", "shared") for file in (ROOT / folder).rglob("*.py"))
    files.sort(key=lambda file: file.relative_to(ROOT).parts[1] != "host")
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
