"""The `assay` command: flags, dispatch, and what an error means for the exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from assay import interrupts
from assay.commands.session import (
    DONE,
    FAILED,
    INTERRUPTED,
    NOT_AUTHORISED,
    NOT_FOUND,
    TIMED_OUT,
    UNREACHABLE,
    USAGE,
    CommandLine,
    Globals,
    UsageError,
    begin,
    current,
)
from shared import VERSION

#: Where each command is defined; only the module of the command that runs is imported.
_COMMANDS = {
    "up": "local:up",
    "down": "local:down",
    "status": "local:status",
    "backup": "local:backup",
    "restore": "local:restore",
    "upgrade": "local:upgrade",
    "login": "login:login",
    "config": "config:app",
    "mcp": "mcp:mcp",
    "queues": "operate:queues",
    "workers": "operate:workers",
    "settings": "operate:settings",
    "stats": "operate:stats",
    "top": "top:top",
    "listen": "listen:listen",
    "eval": "evaluate:app",
    "doctor": "doctor:doctor",
    "execute": "code:execute",
    "transform": "transform:transform",
    "detect": "detect:detect",
    "search": "search:search",
    "ingest": "search:ingest",
    "doc": "doc:app",
    "jobs": "jobs:app",
    "files": "files:app",
    "flow": "flow:app",
    "collection": "search:collection",
    "definitions": "definitions:app",
    "prompts": "admin:prompts",
    "models": "admin:models",
    "endpoints": "endpoints:app",
    "keys": "access:keys",
    "limits": "access:limits",
    "webhooks": "access:webhooks",
    "tenants": "tenants:app",
    "conversations": "conversations:app",
    "result": "jobs:result",
    "providers": "admin:providers",
    "audit": "access:audit",
    "api": "admin:api",
    "scripted-llm": "local:scripted_llm",
}
_HELP_FLAGS = frozenset({"--help", "-h"})
_HELP = "LLM jobs whose answers are executed and checked before they are returned."
_EPILOGUE = """\
Everywhere: --json, --quiet, --url URL, --api-key KEY, --profile NAME
(else ASSAY_PROFILE; ASSAY_URL, ASSAY_API_KEY; the installation in ASSAY_HOME,
or in .assay here or above; the default of `assay config`; the one started last).
Exit status: 0 done, 1 failed, 2 usage, 3 not found, 4 not authorised,
5 unreachable, no provider or no worker, 6 the model has a question,
7 the result is not proven, 124 timed out, 130 interrupted."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    interrupts.repeat()
    sys.exit(run(_typed() if arguments is None else arguments))


def _typed() -> list[str]:
    """Return the arguments as UTF-8, also where the locale is ASCII and Python reads them as such."""
    return [os.fsencode(each).decode("utf-8", "surrogateescape") for each in sys.argv[1:]]


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit status."""
    try:
        flags, rest = take_globals(arguments)
    except UsageError as error:
        sys.stderr.write(f"assay: {error}\n")
        return USAGE
    session = begin(flags)
    if rest[:1] in (["help"], ["version"]):  # as other programs have it
        rest = [*rest[1:], f"--{rest[0]}"]
    app = build()
    try:
        if _HELP_FLAGS & set(rest):
            from assay.commands.examples import add_example  # noqa: PLC0415

            add_example(app, rest)
        answer = app(rest, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()  # notice a closed reader here, where it is not an error
    except CycloptsError as error:
        from assay.commands import mistakes  # noqa: PLC0415

        session.warn(f"assay: {mistakes.usage(error, rest, app)}")
        return USAGE
    except (Exception, KeyboardInterrupt) as error:
        interrupts.is_handled()
        return _explain(session, error)
    return answer if isinstance(answer, int) else DONE


def build() -> App:
    """Return the command with all its nouns."""
    app = App(
        name="assay",
        help=_HELP,
        help_epilogue=_EPILOGUE,
        help_format="plaintext",  # Markdown would cost 60 ms
        suppress_keyboard_interrupt=False,
        version=VERSION,
        version_flags=["--version", "-V"],
    )
    for name, place in _COMMANDS.items():
        app.command(f"assay.commands.{place}", name=name)
    app.command(completion)
    if plugins := [name.strip() for name in os.environ.get("ASSAY_PLUGINS", "").split(",") if name.strip()]:
        from shared.plugins import load_plugins  # noqa: PLC0415 - rarely needed

        load_plugins(plugins)
        _add_plugged_kinds(app)
    return app


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="Your shell")]) -> None:
    """Print what a shell needs to complete this command: source <(assay completion bash)."""
    current().out(build().generate_completion(prog_name="assay", shell=shell))


def _add_plugged_kinds(app: App) -> None:
    """Add a command for every kind whose row names a command that does not exist yet."""
    from assay.commands.run import submitting  # noqa: PLC0415
    from shared.kinds import KINDS  # noqa: PLC0415 - pydantic costs a tenth of a second

    for kind in KINDS.values():
        if kind.command.partition(" ")[0] not in app:
            app.command(submitting(kind), name=kind.command)


def take_globals(arguments: Sequence[str]) -> tuple[Globals, list[str]]:
    """Split off the flags that are allowed before or after the command's name. Raises: UsageError."""
    values: dict[str, str] = {}
    switches: set[str] = set()
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--":
            rest += [word, *words]
        elif name in ("--url", "--api-key", "--profile"):
            given = value if equals else next(words, None)
            if not given:
                raise UsageError(f"{name} needs a value")
            values[name] = given
        elif word in ("--json", "--quiet", "-q"):
            switches.add("--quiet" if word == "-q" else word)
        else:
            rest.append(word)
    server = (values.get("--url"), values.get("--api-key"))
    return Globals(*server, "--json" in switches, "--quiet" in switches, values.get("--profile")), rest


def _explain(session: CommandLine, error: BaseException) -> int:
    """Say what happened; the exit status for it. Raises: the error, when it is not one that we know."""
    from assay.commands import mistakes  # noqa: PLC0415
    from assay.errors import APIConnectionError, APIStatusError, JobTimeout  # noqa: PLC0415

    status = _status_of(error)
    if status is None:
        raise error
    if isinstance(error, BrokenPipeError):
        # The reader has closed the pipe; do not report an error again while closing it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    elif isinstance(error, KeyboardInterrupt):
        session.warn(f"interrupted; the job continues: assay jobs wait {session.job}" if session.job else "interrupted")
    elif isinstance(error, JobTimeout):
        session.warn(f"{error}: assay jobs wait {error.job_id}")
    elif isinstance(error, APIStatusError):
        session.warn("\n".join([f"assay: {mistakes.refusal(error)}", *getattr(error, "__notes__", ())]))
        if status == FAILED and error.request_id:
            session.say(f"request {error.request_id}")
    else:
        session.warn(f"assay: {mistakes.of_file(error) if isinstance(error, OSError) else error}")
        if isinstance(error, APIConnectionError):
            session.say("Is it running? `assay status` shows it, `assay up` starts it on this machine.")
    return status


def _status_of(error: BaseException) -> int | None:
    from assay import errors  # noqa: PLC0415
    from assay.commands import mistakes  # noqa: PLC0415
    from assay.commands.run import NoWorker  # noqa: PLC0415

    if isinstance(error, errors.Invalid) and mistakes.says_missing(error):
        return NOT_FOUND
    meanings: list[tuple[tuple[type[BaseException], ...], int]] = [
        ((UsageError, IsADirectoryError, NotADirectoryError, FileNotFoundError), USAGE),
        ((KeyboardInterrupt,), INTERRUPTED),
        ((BrokenPipeError,), DONE),
        ((errors.JobTimeout,), TIMED_OUT),
        ((NoWorker, errors.Unavailable, errors.APIConnectionError), UNREACHABLE),
        ((errors.NotAuthenticated, errors.MissingScope), NOT_AUTHORISED),
        ((errors.NotFound,), NOT_FOUND),
        ((errors.APIError, OSError, UnicodeDecodeError), FAILED),
        ((ValueError,), USAGE),
    ]
    return next((status for kinds, status in meanings if isinstance(error, kinds)), None)
