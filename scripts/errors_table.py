"""``python -m scripts.errors_table``: write docs/errors.md from the classes of errors."""

from __future__ import annotations

from pathlib import Path

import services.gateway.app  # noqa: F401 - every class of errors is imported by it
from services.gateway.http.problems import by_code

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"
_HEAD = """# Errors

Every error is `application/problem+json` (RFC 9457): `code` is stable, `detail` is for a person, `errors` points at
fields, `request_id` is in the log. Codes with status 502 are also the outcomes of single attempts at a provider
(`assay jobs llm-calls ID`). An installation shows this list at `/docs/errors`. This page is written by `make generate`.

| code | status | title | cause | what to do |
|---|---|---|---|---|
"""


def main() -> None:
    PAGE.write_text(page(), "utf-8")


def page() -> str:
    rows = []
    for code, kind in sorted(by_code().items()):
        cells = (f"`{code}`", str(kind.status), kind.title, kind.cause, kind.remedy)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n")
    return _HEAD + "".join(rows)


if __name__ == "__main__":
    main()
