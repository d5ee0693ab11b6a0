"""``python -m shared.llm.scripted --script FILE --port N``: serve a script until interrupted."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from shared.llm.scripted.http import serve
from shared.llm.scripted.script import Script, parse
from shared.llm.scripted.server import ScriptedServer
from shared.plugins import load_plugins
from shared.settings import PluginSettings


async def run(script: Script, host: str, port: int) -> None:
    """Say on stdout where it listens, then serve until SIGTERM or SIGINT."""
    server = await serve(ScriptedServer(script).handle, host, port)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    address = server.sockets[0].getsockname()
    sys.stdout.write(f"http://{address[0]}:{address[1]}\n")
    sys.stdout.flush()
    await stop.wait()
    server.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripted-llm", description="Answer like the model providers, from a script.")
    parser.add_argument("--script", type=Path, help="YAML or JSON; without it every request is refused")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one and prints it")
    given = parser.parse_args()
    load_plugins(PluginSettings().modules)
    try:
        script = parse(given.script.read_text()) if given.script else Script()
    except (OSError, ValueError) as error:
        sys.stderr.write(f"the script cannot be used: {error}\n")
        return 2
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(script, given.host, given.port))
    return 0


if __name__ == "__main__":
    sys.exit(main())
