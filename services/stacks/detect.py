"""``detect``: open the source, run the engine, write the other forms down."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from services.stacks.asking.detectors import asking
from services.stacks.asking.interview import Interview
from services.stacks.engine import Engine, Options
from services.stacks.interest import ArchiveInterest
from services.stacks.outputs.cyclonedx import cyclonedx
from services.stacks.outputs.dockerfile import dockerfile
from services.stacks.outputs.universalbuild import universalbuild
from services.stacks.remembered import Remembered, identity_of
from services.stacks.settings import StacksSettings
from services.stacks.sources.archive import open_archive
from services.stacks.sources.git import open_git
from services.stacks.sources.local import open_folder
from services.stacks.tree import Tree
from shared import VERSION
from shared.contracts.detect import DetectInput, DetectResult
from shared.errors import JobCancelled, SourceNotAllowed
from shared.jobs.job import Context


class Detect:
    """The capability; made once per process, with the rule set it serves."""

    def __init__(
        self, settings: StacksSettings, engine: Engine, provider_configured: Callable[[], bool] | None = None
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._provider_configured = provider_configured
        self._remembered = Remembered(settings.cache_entries)

    def __call__(self, context: Context, request: DetectInput) -> DetectResult:
        """Raises: SourceNotAllowed, SourceTooLarge, SourceUnreadable, UnknownFormat, NotFound, InvalidRequest."""
        began = time.perf_counter()
        identity = self._archive_identity(context, request)
        known = self._remembered.get(identity)
        if known is None:
            with self._opened(context, request) as tree:
                identity = identity or self._tree_identity(tree, request)
                known = self._remembered.get(identity) or self._detect(context, request, tree)
            if not known[0].stats.llm_calls:
                self._remembered.keep(identity, *known)
        result, warnings = known
        if request.mode == "full" and self._provider_configured and not self._provider_configured():
            warnings = [*warnings, "no model provider is configured: the detection ran as static"]
        for warning in dict.fromkeys(warnings):
            context.report.warn(warning)
        result = result.model_copy(deep=True)
        result.stats.seconds = round(time.perf_counter() - began, 6)
        self._forms(context, result)
        return result

    def _detect(self, context: Context, request: DetectInput, tree: Tree) -> tuple[DetectResult, list[str]]:
        interview = Interview(
            context.llm, context.prompts, context.budget, self._engine.rules, request.mode == "llm_only",
            context.report.turn,
        )  # fmt: skip
        unasked = self._provider_configured is not None and not self._provider_configured() and request.mode == "full"
        options = Options(
            mode="static" if unasked else request.mode,
            root=request.root,
            disable=frozenset(request.disable),
            definitions=request.definitions,
            asking=asking(interview),
        )
        if context.cancelled.is_set():
            raise JobCancelled("the job was cancelled")
        return self._engine.detect(tree, options)

    def _archive_identity(self, context: Context, request: DetectInput) -> str | None:
        """The same upload is not even opened again."""
        info = context.files.info(request.source.file_id) if request.source.file_id is not None else None
        return self._identity(f"archive:{info.sha256}", request) if info and info.sha256 else None

    def _tree_identity(self, tree: Tree, request: DetectInput) -> str | None:
        return self._identity(f"git:{tree.identity}", request) if tree.identity else None

    def _identity(self, tree: str, request: DetectInput) -> str:
        return identity_of(tree, self._engine.rules.version, request)

    @contextmanager
    def _opened(self, context: Context, request: DetectInput) -> Iterator[Tree]:
        source, interest, stop = request.source, ArchiveInterest(self._engine.tables), context.cancelled.is_set
        if source.file_id is not None:
            with context.files.open(source.file_id) as stream:
                tree = open_archive(stream, interest, self._settings.limits, stop)
            yield tree
        elif source.git is not None:
            with open_git(source.git, source.ref, interest, self._settings, stop) as tree:
                yield tree
        elif self._settings.local_paths:
            yield open_folder(Path(source.path or ""), self._settings.max_entries)
        else:
            raise SourceNotAllowed("local paths are read by an installation on one machine only; upload an archive")

    def _forms(self, context: Context, result: DetectResult) -> None:
        rules = self._engine.rules
        forms: dict[str, tuple[str, bytes]] = {
            "universalbuild": ("application/json", _json(cast("JsonValue", universalbuild(result)))),
            "cyclonedx": ("application/vnd.cyclonedx+json", _json(cyclonedx(result, rules, VERSION))),
            "dockerfile": ("text/plain; charset=utf-8", dockerfile(result, rules).encode()),
        }
        for name, (media_type, body) in forms.items():
            context.report.form(name, media_type, body)


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8", "replace")
