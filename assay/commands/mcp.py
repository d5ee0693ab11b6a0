"""`assay mcp`: Assay as tools of an agent that starts it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from assay.commands.session import UsageError, current
from shared import VERSION
from shared.extras import how_to_install


def mcp(
    *,
    readonly: Annotated[
        bool, Parameter(help="Only tools that change nothing but the list of jobs", negative="")
    ] = False,
    folder: Annotated[
        list[Path] | None,
        Parameter(help="A folder whose files upload_file may read by path; may be repeated", negative=""),
    ] = None,
) -> int:
    """Serve the Model Context Protocol on standard input and output (needs the extra ``mcp``)."""
    try:
        from assay.mcp.stdio import serve  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageError(f"`assay mcp` needs the package mcp: {how_to_install('cli,mcp')}") from None

    folders = [given.resolve() for given in folder or ()]
    for given in folders:
        if not given.is_dir():
            raise UsageError(f"{given} is not a folder")
    target = current().client.target
    serve(target.url, target.api_key, folders, VERSION, read_only=readonly)
    return 0
