"""Tables of results: in a file, in the form that its ending says; whole when piped; their head on a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Literal

from assay.calls import files, jobs
from assay.commands import show
from assay.commands.session import CommandLine, UsageError
from shared.amounts import amount

#: How rows are written to standard output.
StreamFormat = Literal["csv", "tsv", "jsonl", "arrow", "md"]
_PACKED = (".gz", ".zst")
_TEXT = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "records",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".html": "html",
    ".htm": "html",
    ".md": "md",
}
_BINARY = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".arrows": "arrow",
    ".xlsx": "xlsx",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
    ".duckdb": "duckdb",
}
_PLOTS = (".png", ".svg")
_LISTED = (
    "csv, tsv, json, jsonl, html, md (each also with .gz or .zst), parquet, feather, arrow, xlsx, sqlite and duckdb; "
    "for a plot png or svg"
)


def form_of(path: Path) -> str:
    """Return the table format that a file's extension means. Raises: UsageError for an unknown one."""
    name = path.name.lower()
    packing = next((ending for ending in _PACKED if name.endswith(ending)), "")
    ending = Path(name.removesuffix(packing)).suffix
    if packing and ending in _TEXT:
        form = f"{_TEXT[ending]}{packing}"
    elif not packing and ending in _TEXT | _BINARY:
        form = (_TEXT | _BINARY)[ending]
    else:
        raise UsageError(f"unsupported output format {path.suffix or path.name!r}; use one of {_LISTED}")
    check_folder(path)
    return form


def is_plot(path: Path) -> bool:
    """Return whether the file's ending is of a picture, which only a plot can be saved as."""
    return path.suffix.lower() in _PLOTS


def check_target(path: Path, output: str | None) -> None:
    """Refuse a target that cannot be saved, before any model is called. Raises: UsageError."""
    if output != "table" and is_plot(path):
        check_folder(path)
    elif output == "plot":
        raise UsageError(f"a plot is saved as .png or .svg, not as {path.suffix or path.name!r}")
    else:
        form_of(path)


def check_folder(path: Path) -> None:
    """Check that the file's folder exists and the file is not a folder. Raises: UsageError."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder, not a file")
    if not path.parent.is_dir():
        raise UsageError(f"there is no folder {path.parent}")


def save(session: CommandLine, job_id: str, result: dict[str, Any], out: Path) -> None:
    """Save every row, or the plot; the file appears when it is complete. Raises: UsageError."""
    table = result.get("table")
    if table is not None:
        session.client.jobs.save_table(job_id, out, form_of(out))
        session.say(f"saved {out}: {amount(table['row_count'], 'row')}")
    elif result.get("plot_file_id"):
        made = Path(session.client.send(files.get(result["plot_file_id"])).name)
        target = out.with_suffix(made.suffix)  # the code that drew it decides between PNG and SVG
        session.client.files.save(result["plot_file_id"], target)
        session.say(f"saved {target}" + ("" if target == out else f": the plot is {made.suffix}, not {out.suffix}"))
    else:
        raise UsageError(f"job {job_id} has no table and no plot: leave -o out to see its result")


def show_table(session: CommandLine, job_id: str, table: dict[str, Any], format: str | None) -> None:
    """Show the head on a terminal; elsewhere, or in a given format, stream every row."""
    if format is None and sys.stdout.isatty():
        session.out(show.data_table([column["name"] for column in table["columns"]], table["rows"]))
        shown = len(table["rows"])
        if table["row_count"] > shown:
            session.say(f"{shown:,} of {amount(table['row_count'], 'row')}, -o FILE for all")
        return
    if format == "arrow" and sys.stdout.isatty():
        raise UsageError("Arrow is a binary format: send it to a file or a program")
    session.client.download(jobs.result_path(job_id, format or "csv"), sys.stdout.buffer)
    sys.stdout.buffer.flush()
