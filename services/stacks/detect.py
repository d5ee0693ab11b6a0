"""The ``detect`` capability: open the source, run the engine or answer from the cache, write the output forms."""

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

from services.stacks.cache import Answer, ResultCache, cache_key, engine_version
from services.stacks.engine import DetectOptions, StackEngine
from services.stacks.garbage_collection import collect_between_jobs
from services.stacks.llm.identifier import Identifier, llm_detectors
from services.stacks.outputs.cyclonedx import cyclonedx
from services.stacks.outputs.dockerfile import dockerfile
from services.stacks.outputs.sarif import sarif
from services.stacks.outputs.source import source
from services.stacks.outputs.spdx import spdx
from services.stacks.outputs.universalbuild import universalbuild
from services.stacks.selector import ArchiveSelector
from services.stacks.settings import StacksSettings
from services.stacks.sightings import custom_sightings
from services.stacks.sources.archive import open_archive
from services.stacks.sources.git import open_git
from services.stacks.sources.local import folder_identity, open_folder
from services.stacks.store import StackStore
from services.stacks.tree import Tree
from shared import VERSION
from shared.contracts.definitions import Definition, DefinitionSet
from shared.contracts.detect import DetectInput, DetectResult, RuleSet
from shared.contracts.files import FileInfo
from shared.errors import JobCancelled, SourceNotAllowed, SourceTooLarge, SourceUnreadable, UnknownArchiveFormat
from shared.jobs.job import Context
from shared.stacks.definitions import EMPTY

#: A smaller archive is detected in less time than a lookup in the shared store takes.
SHARED_FROM_BYTES = 64 << 10
_NOT_ASKED = "no model provider is configured: the detection ran as static"


@contextmanager
def _naming(archive: str) -> Iterator[None]:
    """Name the archive in what is wrong with it."""
    try:
        yield
    except (SourceTooLarge, SourceUnreadable, UnknownArchiveFormat) as error:
        error.detail = f"{archive}: {error.detail}"
        raise


@dataclass(frozen=True)
class DetectRun:
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
        """The job's own replace the tenant's of the same kind and id."""
        given = {(definition.kind, definition.id) for definition in self.request.definitions}
        kept = (definition for definition in self.own.definitions if (definition.kind, definition.id) not in given)
        return [*self.request.definitions, *kept]


class Detect:
    """The capability; made once per process, with the rule set it serves."""

    def __init__(
        self,
        settings: StacksSettings,
        engine: StackEngine,
        provider_configured: Callable[[], bool] | None = None,
        store: StackStore | None = None,
        version: str | None = None,
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._provider_configured = provider_configured or (lambda: True)
        self._store = store  #: None without a database: no definitions, no known results, nothing stored
        self._cache = ResultCache(settings.cache_entries)
        self._version = version or engine_version()

    def __call__(self, context: Context, request: DetectInput) -> DetectResult:
        """Detect one source.

        Raises: NotFound, InvalidRequest, SourceNotAllowed, SourceTooLarge, SourceUnreadable, UnknownArchiveFormat.
        """
        began = time.perf_counter()
        without_model = request.mode == "full" and not self._provider_configured()
        own = self._store.definitions(context.job.tenant_id, request.definitions_version) if self._store else EMPTY
        file_id = request.source.file_id
        archive = context.files.info(file_id) if file_id is not None else None
        run = DetectRun(context, request, own, "static" if without_model else request.mode, archive)
        answer = self._answer(run)
        warnings = answer.warnings
        if without_model:
            warnings = [*warnings, _NOT_ASKED]
        for warning in dict.fromkeys(warnings):
            context.report.warn(warning)
        stats = answer.result.stats.model_copy(update={"seconds": round(time.perf_counter() - began, 6)})
        result = answer.result.model_copy(update={"stats": stats})  # the cached one stays as it is
        self._forms(context, result)
        if answer.source is not None:
            context.report.form("source", "application/json", answer.source)
        collect_between_jobs()
        return result

    def _answer(self, run: DetectRun) -> Answer:
        """Return the cached answer for the tree under these rules, else what the engine detects."""
        key = self._key(run, f"archive:{run.archive.sha256}") if run.archive and run.archive.sha256 else None
        answer = self._known(run, key)  # the same upload is not even opened again
        if answer is None:
            with self._opened(run.context, run.request) as tree:
                if key is None and tree.identity:
                    key = self._key(run, f"tree:{tree.identity}")
                    answer = self._known(run, key)
                if answer is None:
                    answer = self._detect(run, tree, key)
        return answer

    def _known(self, run: DetectRun, key: str | None) -> Answer | None:
        """Return the answer from this process's memory, else from the store of all workers."""
        if key is None or self._settings.cache_entries == 0:
            return None
        answer = self._cache.get(key)
        if answer is None and run.shared and self._store:
            answer = self._store.answer(run.context.job.tenant_id, key)
            if answer is not None:
                self._cache.put(key, answer)
        return answer

    def _detect(self, run: DetectRun, tree: Tree, key: str | None) -> Answer:
        context = run.context
        identifier = Identifier(
            context.llm, context.prompts, context.budget, self._engine.rules, run.mode == "llm_only",
            context.report.turn,
        )  # fmt: skip
        options = DetectOptions(
            mode=run.mode,
            root=run.request.root,
            disable=frozenset(run.request.disable),
            definitions=run.definitions,
            llm=llm_detectors(identifier),
        )
        if context.cancelled.is_set():
            raise JobCancelled("the job was cancelled")
        result, warnings = self._engine.detect(tree, options)
        result.rules = RuleSet(version=self._engine.rules.version, definitions=run.own.version)
        seen = custom_sightings(result, self._engine.rules, self._engine.tables)
        if seen and self._store:
            self._store.add_sightings(context, _repository(run, tree), seen)
        answer = Answer(result, warnings, orjson.dumps(source(tree, result)))
        if key is not None and self._settings.cache_entries and not identifier.asked:  # a model may answer otherwise
            self._cache.put(key, answer)
            if run.shared and self._store:
                self._store.keep_answer(context, key, warnings)
        return answer

    def _key(self, run: DetectRun, tree: str) -> str:
        request = run.request.model_dump_json(exclude={"source", "mode", "definitions_version"})
        tenant = run.context.job.tenant_id
        return cache_key(tenant, tree, self._version, run.own.version, f"{run.mode}\0{request}")

    @contextmanager
    def _opened(self, context: Context, request: DetectInput) -> Iterator[Tree]:
        given, settings, stop = request.source, self._settings, context.cancelled.is_set
        select = ArchiveSelector(self._engine.tables)
        if given.file_id is not None:
            name = given.name or context.files.info(given.file_id).name
            with _naming(name), context.files.open(given.file_id) as stream:
                tree = open_archive(stream, select, settings.limits, stop)
            yield tree
        elif given.git is not None:
            with open_git(given.git, given.ref, select, settings.limits, settings.git_limits, stop) as tree:
                yield tree
        elif settings.local_paths:
            tree = open_folder(Path(given.path or ""), settings.max_entries)
            if settings.cache_entries:
                tree.identity = folder_identity(tree, time.time_ns())
            yield tree
        else:
            raise SourceNotAllowed("local paths are read by an installation on one machine only; upload an archive")

    def _forms(self, context: Context, result: DetectResult) -> None:
        rules = self._engine.rules
        forms: dict[str, tuple[str, bytes]] = {
            "universalbuild": ("application/json", _json(cast("JsonValue", universalbuild(result)))),
            "cyclonedx": ("application/vnd.cyclonedx+json", _json(cyclonedx(result, rules, VERSION))),
            "spdx": ("application/spdx+json", _json(spdx(result, VERSION))),
            "sarif": ("application/sarif+json", _json(sarif(result, VERSION))),
            "dockerfile": ("text/plain; charset=utf-8", dockerfile(result, rules).encode()),
        }
        for name, (media_type, body) in forms.items():
            context.report.form(name, media_type, body)


def _repository(run: DetectRun, tree: Tree) -> str:
    """Return one hash per repository, independent of the commit."""
    given = run.request.source
    known = given.git or given.path or "\0".join(sorted(tree.folders))
    return hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:32]


def _json(value: JsonValue) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)
