"""``detect``: open the source, run the engine, write the other forms down."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import orjson
from pydantic import JsonValue

from services.stacks.cache import Remembered, identity_of
from services.stacks.engine import Engine, Options
from services.stacks.llm.identifier import Interview, asking
from services.stacks.outputs.cyclonedx import cyclonedx
from services.stacks.outputs.dockerfile import dockerfile
from services.stacks.outputs.universalbuild import universalbuild
from services.stacks.selector import ArchiveInterest
from services.stacks.settings import StacksSettings
from services.stacks.sightings import custom_sightings
from services.stacks.sources.archive import open_archive
from services.stacks.sources.git import open_git
from services.stacks.sources.local import open_folder
from services.stacks.store import Kept, Known, Nothing
from services.stacks.tree import Tree
from shared import VERSION
from shared.contracts.definitions import Definition, DefinitionSet
from shared.contracts.detect import DetectInput, DetectResult, RuleSet
from shared.contracts.files import FileInfo
from shared.errors import JobCancelled, SourceNotAllowed
from shared.jobs.job import Context


@dataclass(frozen=True)
class Run:
    """One job, with the rules that hold for it."""

    context: Context
    request: DetectInput
    own: DefinitionSet  #: the tenant's definitions
    mode: str  #: the one that is run: ``full`` without a provider is ``static``
    archive: FileInfo | None  #: the upload, where it is one

    @property
    def shared(self) -> bool:
        """Whether the result is worth sharing with the other workers."""
        return self.archive is None or self.archive.size >= SHARED_FROM_BYTES

    @property
    def definitions(self) -> list[Definition]:
        """The job's own stand over the tenant's."""
        given = {(definition.kind, definition.id) for definition in self.request.definitions}
        return [
            *self.request.definitions,
            *(definition for definition in self.own.definitions if (definition.kind, definition.id) not in given),
        ]


#: A smaller archive is detected in less time than it takes to ask the other workers about it.
SHARED_FROM_BYTES = 64 << 10


class Detect:
    """The capability; made once per process, with the rule set it serves."""

    def __init__(
        self,
        settings: StacksSettings,
        engine: Engine,
        provider_configured: Callable[[], bool] | None = None,
        kept: Kept | None = None,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._provider_configured = provider_configured or (lambda: True)
        self._kept = kept or Nothing()
        self._remembered = Remembered(settings.cache_entries)

    def __call__(self, context: Context, request: DetectInput) -> DetectResult:
        """Raises: SourceNotAllowed, SourceTooLarge, SourceUnreadable, UnknownFormat, NotFound, InvalidRequest."""
        began = time.perf_counter()
        unasked = request.mode == "full" and not self._provider_configured()
        own = self._kept.definitions(context.job.tenant_id, request.definitions_version)
        file_id = request.source.file_id
        archive = context.files.info(file_id) if file_id is not None else None
        run = Run(context, request, own, "static" if unasked else request.mode, archive)
        result, warnings = self._answer(run)
        if unasked:
            warnings = [*warnings, "no model provider is configured: the detection ran as static"]
        for warning in dict.fromkeys(warnings):
            context.report.warn(warning)
        stats = result.stats.model_copy(update={"seconds": round(time.perf_counter() - began, 6)})
        result = result.model_copy(update={"stats": stats})  # what is remembered may be answered from again
        self._forms(context, result)
        return result

    def _answer(self, run: Run) -> Known:
        """What is known of the tree under these rules, else what the engine finds."""
        identity = self._archive_identity(run)
        known = self._known(run, identity)
        if known is None:
            with self._opened(run.context, run.request) as tree:
                if identity is None and tree.identity:
                    identity = self._identity(run, f"git:{tree.identity}")
                    known = self._known(run, identity)
                if known is None:
                    known = self._detect(run, tree, identity)
        return known

    def _known(self, run: Run, identity: str | None) -> Known | None:
        """From the memory of this process, else from what all workers share."""
        if identity is None or self._settings.cache_entries == 0:
            return None
        answer = self._remembered.get(identity)
        if answer is None and run.shared:
            answer = self._kept.result(run.context.job.tenant_id, identity)
            if answer is not None:
                self._remembered.keep(identity, *answer)
        return answer

    def _detect(self, run: Run, tree: Tree, identity: str | None) -> Known:
        context = run.context
        interview = Interview(
            context.llm, context.prompts, context.budget, self._engine.rules, run.mode == "llm_only",
            context.report.turn,
        )  # fmt: skip
        options = Options(
            mode=run.mode,
            root=run.request.root,
            disable=frozenset(run.request.disable),
            definitions=run.definitions,
            asking=asking(interview),
        )
        if context.cancelled.is_set():
            raise JobCancelled("the job was cancelled")
        result, warnings = self._engine.detect(tree, options)
        result.rules = RuleSet(version=self._engine.rules.version, definitions=run.own.version)
        seen = custom_sightings(result, self._engine.rules, self._engine.tables)
        if seen:
            self._kept.saw(context, self._source(run, tree), seen)
        if identity is not None and not interview.asked:  # what a model said, or could not say, may be said otherwise
            self._remembered.keep(identity, result, warnings)
            if self._settings.cache_entries and run.shared:
                self._kept.keep(context, identity, warnings)
        return result, warnings

    def _archive_identity(self, run: Run) -> str | None:
        """The same upload is not even opened again."""
        return self._identity(run, f"archive:{run.archive.sha256}") if run.archive and run.archive.sha256 else None

    def _identity(self, run: Run, tree: str) -> str:
        asked = run.request.model_dump_json(exclude={"source", "mode", "definitions_version"})
        rules = self._engine.rules.version
        return identity_of(run.context.job.tenant_id, tree, rules, run.own.version, f"{run.mode}\0{asked}")

    def _source(self, run: Run, tree: Tree) -> str:
        """One hash for one repository, at whatever commit."""
        source = run.request.source
        known = source.git or source.path or "\0".join(sorted(tree.folders))
        return hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:32]

    @contextmanager
    def _opened(self, context: Context, request: DetectInput) -> Iterator[Tree]:
        source, interest, stop = request.source, ArchiveInterest(self._engine.tables), context.cancelled.is_set
        if source.file_id is not None:
            with context.files.open(source.file_id) as stream:
                tree = open_archive(stream, interest, self._settings.limits, stop)
            yield tree
        elif source.git is not None:
            with open_git(
                source.git, source.ref, interest, self._settings.limits, self._settings.git_limits, stop
            ) as tree:
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
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)
