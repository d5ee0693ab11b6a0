"""`assay login`: a link that signs a browser in to the console."""

from __future__ import annotations

import webbrowser
from typing import Annotated, Any

from cyclopts import Parameter

from assay.calls import rest
from assay.commands.session import current


def login(
    *, open: Annotated[bool, Parameter(help="Also open it in this machine's browser", negative="")] = False
) -> int:
    """Print a link that signs a browser in to the console; it works once, for a minute."""
    client = current().client

    def link(made: Any) -> str:
        return f"{client.target.url}{made['path']}"

    made = client.fetch(rest.create_session_code())
    current().show(made, link)
    if open:
        webbrowser.open(link(made))
    return 0
