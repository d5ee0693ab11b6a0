"""``python -m services.host up|down|status``: what the ``assay`` command runs on the local installation."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from types import ModuleType

from pydantic import ValidationError

from services.host import preflight, settings_digest
from services.host.child import open_log
from services.host.folder import InstallationFolder, Status, current_status, stop
from services.host.installation import DEMO_SCRIPT, HostSettings, ServerSettings, compose
from shared.plugins import load_plugins
from shared.settings import PluginSettings, explained
from shared.unknown_settings import unknown_settings

DONE, FAILED, USAGE, UNREACHABLE = 0, 1, 2, 5
START_SECONDS = 120


def main() -> int:
    try:
        status = _main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe; avoid a second error while closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return status


def _main() -> int:
    options = _parser().parse_args()
    load_plugins(PluginSettings().modules)
    try:
        settings = HostSettings()
    except ValidationError as error:
        _say(explained(error) or str(error))
        return USAGE
    folder = InstallationFolder(settings.home)
    commands: dict[str, Callable[[], int]] = {
        "up": lambda: _up(folder, settings, options),
        "down": lambda: _down(folder),
        "status": lambda: _status(current_status(folder) or _nothing(settings), options.output),
        "backup": lambda: _backup_commands().back_up(folder, options.file),
        "restore": lambda: _backup_commands().bring_back(folder, options.file, replace=options.replace),
        "upgrade": lambda: _upgrade(folder, settings, options),
    }
    try:
        return commands[options.command]()
    except OSError as error:
        if error.filename is None or not Path(os.fsdecode(error.filename)).is_relative_to(folder.path):
            raise
        _say(f"ASSAY_HOME cannot be used: {error.filename}: {error.strerror}")
        return FAILED


def _backup_commands() -> ModuleType:
    from services.host import backup_commands  # noqa: PLC0415 - obstore, Alembic

    return backup_commands


def _upgrade(folder: InstallationFolder, settings: HostSettings, options: argparse.Namespace) -> int:
    from services.host.upgrade import Upgrade  # noqa: PLC0415 - Alembic

    options.detach = True
    status = current_status(folder)
    script = options.script or (DEMO_SCRIPT if options.demo else None)
    if status is not None and status.supervisor is not None:
        now = settings_digest.digests(folder, os.environ, script)
        other = settings_digest.differences(folder.read_settings(), now)
        if other and not options.other_settings:
            _say(f"{other.split(':')[0]}. Set the same here, or give --other-settings.")
            return USAGE
    start = partial(_up, folder, settings, options)
    return Upgrade(folder, start, options.backup, keeps=not options.no_backup)()


def _up(folder: InstallationFolder, settings: HostSettings, options: argparse.Namespace) -> int:
    script = options.script or (DEMO_SCRIPT if options.demo else None)
    if script is not None and not script.is_file():
        _say(f"there is no script {script}")
        return USAGE
    if wrong := preflight.wrong_settings():
        _say(wrong)
        return USAGE
    for warning in unknown_settings(os.environ):
        _say(f"warning: {warning}")
    if folder.holder() is not None:
        return _await_ready(folder, script=script)
    if blocked := _blocked(folder):
        _say(blocked[0])
        return blocked[1]
    if options.detach:
        # The caller announces it: the log must not hold the key.
        return _detach(folder, lambda: _supervise(folder, settings, script, lambda status: None))
    return _supervise(folder, settings, script, _announce)


def _blocked(folder: InstallationFolder) -> tuple[str, int] | None:
    """Return why nothing can be started, and the exit status; None when something can."""
    given = ServerSettings()
    away = preflight.unreachable_redis(given.redis_url) or preflight.unreachable_postgres(given.database_url)
    if away:
        return away, UNREACHABLE
    is_new = given.database_url is None and not (folder.path / "postgres").is_dir()
    if is_new and (full := preflight.no_space(folder.path)):
        return full, FAILED
    return None


def _supervise(
    folder: InstallationFolder, settings: HostSettings, script: Path | None, on_ready: Callable[[Status], None]
) -> int:
    from services.host.supervisor import AlreadyRunning, Supervisor  # noqa: PLC0415 - psycopg

    try:
        installation = compose(os.environ, settings, ServerSettings(), script=script)
        _say("Starting Assay ...")
        Supervisor(installation, on_ready).run()
    except AlreadyRunning:
        return _await_ready(folder, script=script)
    except ValueError as error:
        _say(str(error))
        return USAGE
    except RuntimeError as error:
        _say(str(error))
        return FAILED
    except OSError as error:  # a folder or file of the installation
        where = f"{error.filename}: " if error.filename else ""
        _say(f"Assay cannot start: {where}{error.strerror or error}")
        return FAILED
    _say("Assay has stopped.")
    return DONE


def _detach(folder: InstallationFolder, supervise: Callable[[], int]) -> int:
    """Continue in the background, and return here when everything is ready."""
    folder.make()
    log = folder.logs / "supervisor.log"
    pid = os.fork()
    if pid == 0:
        os._exit(_in_background(log, supervise))
    return _await_ready(folder, pid, log)


def _in_background(log: Path, supervise: Callable[[], int]) -> int:
    """Leave the terminal behind and run; the exit status."""
    os.setsid()
    with open_log(log) as output, open(os.devnull) as nothing:
        output.truncate(0)
        os.dup2(nothing.fileno(), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    try:
        return supervise()
    except BaseException:
        traceback.print_exc()
        return FAILED
    finally:
        sys.stdout.flush()


def _await_ready(
    folder: InstallationFolder,
    supervisor: int | None = None,
    log: Path | None = None,
    script: Path | None = None,
) -> int:
    """Wait for an installation that starts: the child ``supervisor``, or its current holder."""
    deadline = time.monotonic() + START_SECONDS
    status: Status | None = None
    while time.monotonic() < deadline:
        status = current_status(folder)
        ours = status is not None and (supervisor is None or status.supervisor == supervisor)
        if status is not None and ours and status.ready:
            if supervisor is None:
                now = settings_digest.digests(folder, os.environ, script)
                other = settings_digest.differences(folder.read_settings(), now)
                _say(f"Assay is already running. {other}".rstrip())
            _announce(status)
            return DONE
        if supervisor is not None and (ended := os.waitpid(supervisor, os.WNOHANG))[0]:
            _say(log.read_text().rstrip() if log is not None else "Assay did not start.")
            return os.waitstatus_to_exitcode(ended[1]) or FAILED
        if supervisor is None and folder.holder() is None:
            _say("Assay stopped meanwhile.")
            return FAILED
        time.sleep(0.02)
    waiting = [service.name for service in status.services if service.state != "ready"] if status else []
    _say(f"Not ready after {START_SECONDS} seconds: {', '.join(waiting) or 'nothing has started'}; see the logs.")
    return UNREACHABLE


def _down(folder: InstallationFolder) -> int:
    _say("Assay has stopped." if stop(folder) else "Assay is not running.")
    return DONE


def _nothing(settings: HostSettings) -> Status:
    """Return the status before the first start."""
    _say("Nothing has been started here yet: run `assay up`.")
    return Status(f"http://{settings.host}:{settings.port}", None, "", "")


def _status(status: Status, output: str) -> int:
    degraded = _degraded(status)
    if output == "json":
        shown = {
            "url": status.url,
            "api_key": status.api_key,
            "database_url": status.database_url,
            "redis_url": status.redis_url,
            "ready": status.ready and not degraded,
            "degraded": degraded,
            "services": [vars(service) for service in status.services],
        }
        print(json.dumps(shown, indent=2))  # noqa: T201
    elif output == "env":
        if status.supervisor is None:  # a shell that evaluates it must not point at what does not run
            _say("Assay is not running: `assay up` starts it.")
            return UNREACHABLE
        print(f"export ASSAY_URL={quote(status.url)}\nexport ASSAY_API_KEY={quote(status.api_key or '')}")  # noqa: T201
    else:
        for service in status.services:
            print(f"{service.name:16} {service.state:11} {service.pid or '-':>8}  {service.started_at or ''}")  # noqa: T201
        for name, reason in degraded.items():
            print(f"{name:16} {'degraded':11} {reason}")  # noqa: T201
        print(f"{'url':16} {status.url}")  # noqa: T201
        if status.why_root:
            print(f"{'root':16} {status.why_root}")  # noqa: T201
    return DONE if status.ready and not degraded else UNREACHABLE


def _degraded(status: Status) -> dict[str, str]:
    """Return what the gateway needs and does not have, and why; empty when nothing is missing, or no gateway is up."""
    if not status.ready:
        return {}
    try:
        with urllib.request.urlopen(f"{status.url}/readyz", timeout=5) as answer:  # noqa: S310
            dependencies = json.load(answer)["dependencies"]
    except urllib.error.HTTPError as error:
        with error:
            return {"gateway": str(json.load(error).get("detail", error.reason))}
    except (OSError, ValueError, KeyError):
        return {"gateway": "The gateway does not answer."}
    return {name: each["reason"] for name, each in dependencies.items() if each["state"] != "ok"}


def _announce(status: Status) -> None:
    body = '{"kind":"execute","input":{"language":"python","code":"6*7"}}'
    lines = [
        f"Open  {_sign_in_link(status)}",
        f"URL   {status.url}",
        f"Key   {status.api_key}",
        f"Docs  {status.url}/docs",
        f"Try   curl -s {status.url}/v1/jobs \\",
        f"        -H 'Authorization: Bearer {status.api_key}' \\",
        "        -H 'Content-Type: application/json' -H 'Prefer: wait=20' \\",
        f"        -d '{body}'",
    ]
    if any(service.name == "scripted-llm" for service in status.services):
        lines.append("Note  models are scripted: their answers come from a script, and no provider is called")
    lines += [f"Note  {note}" for note in (status.why_port, status.why_root) if note]
    print("\n".join(lines), flush=True)  # noqa: T201


def _sign_in_link(status: Status) -> str:
    """Return the console's address with a code that signs in once, for a minute; the plain address without a code."""
    headers = {"Authorization": f"Bearer {status.api_key}"}
    request = urllib.request.Request(f"{status.url}/v1/session-codes", b"", headers, method="POST")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return f"{status.url}{json.load(answer)['path']}  (works once, for a minute; later: assay login)"
    except (OSError, ValueError):
        return status.url


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="assay", allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start everything and keep it running")
    up.add_argument("--demo", action="store_true", help="answer model calls with a script instead of a provider")
    up.add_argument("--script", type=Path, help="the script that the scripted LLM server plays")
    up.add_argument("-d", "--detach", action="store_true", help="return when everything is ready")
    commands.add_parser("down", help="stop everything")
    upgrade = commands.add_parser("upgrade", help="back up, stop, migrate and start this version")
    upgrade.add_argument("--demo", action="store_true", help="as for up")
    upgrade.add_argument("--script", type=Path, help="as for up")
    upgrade.add_argument("--backup", type=Path, help="the file of the backup")
    upgrade.add_argument("--no-backup", action="store_true", help="make none")
    upgrade.add_argument("--other-settings", action="store_true", help="start with what is set here")
    backup = commands.add_parser("backup", help="keep everything in one file")
    backup.add_argument("file", type=Path)
    restore = commands.add_parser("restore", help="bring a backup back")
    restore.add_argument("file", type=Path)
    restore.add_argument("--replace", action="store_true", help="delete what this installation holds")
    status = commands.add_parser("status", help="show what runs")
    status.add_argument("-o", "--output", choices=["text", "json", "env"], default="text")
    return parser


if __name__ == "__main__":
    sys.exit(main())
