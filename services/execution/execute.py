"""``execute``: the caller's code in a sandbox. Nothing is proposed here; the system runs, watches and reports."""

from __future__ import annotations

import mimetypes
from pathlib import Path

from services.execution.inputs import fetch_files
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.run import Outcome, Run, Shown
from services.execution.sessions import Interpreters, wall_seconds
from shared.contracts.common import Isolation
from shared.contracts.execute import Artifact, Display, ExecuteInput, ExecuteResult, OutputSource, Verdict
from shared.jobs.job import Context, Files

_SUFFIXES = {"image/png": "png", "image/svg+xml": "svg", "image/jpeg": "jpg", "text/html": "html", "text/plain": "txt"}


class Execute:
    """The capability; one sandbox serves every job of a worker."""

    def __init__(self, sandbox: Sandbox, interpreters: Interpreters) -> None:
        self._sandbox = sandbox
        self._interpreters = interpreters

    def __call__(self, context: Context, request: ExecuteInput) -> ExecuteResult:
        """Run the code.

        Raises: NotFound, InvalidRequest, UserCodeFailed, LanguageUnavailable, SandboxUnavailable, JobCancelled.
        """
        with self._sandbox.scratch() as folder:
            if request.session:
                with self._interpreters.run(context, request, folder) as (outcome, state):
                    return _kept(context, outcome).model_copy(update={"session": state})
            files = fetch_files(context.files, request.files, folder)
            run = Run(
                language=request.language,
                code=request.code,
                files=files,
                stdin=request.stdin.encode(),
                limits=request.limits.model_copy(update={"wall_seconds": wall_seconds(context, request.limits)}),
                seed=request.seed,
            )
            with self._sandbox.run(run, context.cancelled, context.report.output) as outcome:
                if outcome.verdict is Verdict.TIMEOUT_WALL and run.limits.wall_seconds < request.limits.wall_seconds:
                    context.report.warn("The job's budget of seconds ended the code, before its wall time limit.")
                return _kept(context, outcome)


def _kept(context: Context, outcome: Outcome) -> ExecuteResult:
    """Return the result, with everything that is not text saved as the tenant's files."""
    for refused in outcome.refused:
        context.report.warn(f"Left inside: {refused}")
    displays = [
        save_display(context.files, f"display-{number}", shown) for number, shown in enumerate(outcome.displays, 1)
    ]
    artifacts = [
        Artifact(path=product.path, file_id=_save(context, product.path, product.content), size=product.size)
        for product in outcome.artifacts
    ]
    return ExecuteResult(
        verdict=outcome.verdict,
        stdout=outcome.stdout,
        stderr=outcome.stderr,
        truncated=outcome.truncated,
        error=outcome.error,
        value=outcome.value,
        displays=displays,
        artifacts=artifacts,
        usage=outcome.usage,
        isolation=Isolation(tier=outcome.isolation.tier, claimed=outcome.isolation.claimed),
    )


def save_display(files: Files, name: str, shown: Shown) -> Display:
    """Return a display as results show it; what is not text becomes a file of that name."""
    source: OutputSource = "value" if shown.is_value else "display"
    if shown.content is None:
        return Display(media_type=shown.media_type, text=shown.text, source=source)
    saved = files.save(f"{name}.{_SUFFIXES.get(shown.media_type, 'bin')}", shown.content, shown.media_type)
    return Display(media_type=shown.media_type, file_id=saved.id, source=source)


def _save(context: Context, path: str, content: Path) -> str:
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    return context.files.save(path.rpartition("/")[2], content, media_type).id
