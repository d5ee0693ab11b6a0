"""The sandbox of a worker: one warm zygote, containers behind walls, and a verdict for whatever runs in them."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event as Flag
from typing import cast

from services.execution.sandbox.host.cgroups import Groups
from services.execution.sandbox.host.container import Container
from services.execution.sandbox.host.detached import DetachedFiles
from services.execution.sandbox.host.gvisor import GvisorLauncher, find_runsc
from services.execution.sandbox.host.isolation_level import isolation
from services.execution.sandbox.host.launcher import Launcher
from services.execution.sandbox.host.outcome import bring_out, holds_together
from services.execution.sandbox.host.pool import Pool, PoolFill
from services.execution.sandbox.host.request import PreparedRun
from services.execution.sandbox.host.runtime import describe_runtime
from services.execution.sandbox.host.scratch import Scratch, TemporaryFolder
from services.execution.sandbox.host.selftest import prove
from services.execution.sandbox.host.session import Session
from services.execution.sandbox.host.supervise import Facts, Supervision
from services.execution.sandbox.host.zygote import Zygote
from services.execution.sandbox.language import LanguageSpecs
from services.execution.sandbox.run import OnOutput, Outcome, Run
from services.execution.sandbox.settings import SandboxSettings
from shared import tracing
from shared.contracts.execute import Limits
from shared.errors import InternalError, JobCancelled, LanguageUnavailable, SandboxUnavailable

_ATTEMPTS = 3  #: a sandbox, or the whole zygote, that breaks by itself is replaced
_MAX_COPIED = 4 << 20  #: bytes of a file; for a larger one the sandbox is ended, which takes less time then
_OPENED_WITHIN = 150.0  #: seconds for a zygote to be warm
_START_AGAIN_AFTER = 1.0


class Sandbox:
    """The walls, and warm containers behind them; threads may share it."""

    def __init__(self, settings: SandboxSettings, specs: LanguageSpecs, programs: Sequence[str] = ()) -> None:
        """Start the sandbox and prove that it isolates. Raises: SandboxUnavailable.

        ``programs`` are our modules that code inside may import in addition to its language; they are loaded
        beforehand.
        """
        self._settings = settings
        self._specs = specs
        self.isolation = isolation(settings)
        packages = [package for spec in specs.values() for package in spec.guest.packages]
        packages += [program.rpartition(".")[0] for program in programs]
        self._runtime = describe_runtime(settings, packages)
        self._warm = [*(module for spec in specs.values() for module in spec.warm), *programs]
        self._languages = {name: spec.versions() for name, spec in specs.items()}
        self._zygote: Launcher | None = None
        self._own = Scratch()
        self._detached = DetachedFiles(self._runtime.bubblewrap)
        self._groups = Groups() if settings.cgroups else None
        self._fault: SandboxUnavailable | None = None
        self._changed = threading.Condition()
        self._closed = False
        wanted = {
            name: settings.slots if specs[name].pooled is None else cast("int", specs[name].pooled)
            for name, version in self._languages.items()
            if version is not None
        }
        # A gVisor sandbox takes seconds to start: there every language is ready before its first use.
        on_demand = () if settings.runtime == "gvisor" else [name for name in wanted if specs[name].pooled is not None]
        self._pool = Pool(self._make_container, wanted, settings.max_age_seconds, on_demand)
        # A zygote dies with the thread that started it, so that thread is the one that keeps the pool.
        self._upkeep = threading.Thread(target=self._keep, name="sandbox-upkeep", daemon=True)
        self._upkeep.start()
        try:
            self._wait_for_zygote(_OPENED_WITHIN)
            prove(self.run, settings.runtime == "gvisor")
        except BaseException:
            self.close()
            raise

    def _keep(self) -> None:
        """Hold a living zygote, and its pool full, until closed."""
        while not self._closed:
            zygote: Launcher | None = None
            try:
                zygote = self._launched()
                zygote.wait_warm(self._warm)
                self._announce(zygote, None)
                self._pool.keep(lambda zygote=zygote: zygote.alive)  # type: ignore[misc]
                self._announce(None, None)
            except SandboxUnavailable as fault:
                self._announce(None, fault)
                with self._changed:
                    self._changed.wait_for(lambda: self._closed, _START_AGAIN_AFTER)
            finally:
                if zygote is not None:
                    zygote.close()

    def _launched(self) -> Launcher:
        settings = self._settings
        if settings.runtime == "gvisor":
            return GvisorLauncher(self._runtime, settings.uid, find_runsc(settings))
        return Zygote(self._runtime, settings.uid)

    def _announce(self, zygote: Launcher | None, fault: SandboxUnavailable | None) -> None:
        with self._changed:
            self._zygote, self._fault = zygote, fault
            self._changed.notify_all()

    def _wait_for_zygote(self, seconds: float) -> Launcher:
        """Return the living zygote. Raises: SandboxUnavailable with the reason why there is none."""
        self._pool.wake()
        if threading.current_thread() is self._upkeep:
            seconds = 0  # it is the one that starts another
        with self._changed:
            if self._zygote is not None and not self._zygote.alive:
                self._zygote = None  # the upkeep thread is about to replace it
            self._changed.wait_for(lambda: self._closed or self._zygote is not None or self._fault is not None, seconds)
            if self._zygote is None or self._closed:
                raise self._fault or SandboxUnavailable("The sandbox is not open.")
            return self._zygote

    def _make_container(self, language: str) -> Container:
        zygote = self._wait_for_zygote(_OPENED_WITHIN)
        try:
            container = self._container(zygote, language)
        except SandboxUnavailable:
            if zygote.alive:
                raise
            container = self._container(self._wait_for_zygote(_OPENED_WITHIN), language)
        container.limit(Limits(), 0)  # what most runs need
        return container

    def _container(self, zygote: Launcher, language: str) -> Container:
        return Container(zygote, self._specs[language], None if self._groups is None else self._groups.make())

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process and remove every trace."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._pool.close()
        self._upkeep.join()
        if self._groups is not None:
            self._groups.close()
        self._detached.close()
        self._own.close()

    def wait_ready(self, seconds: float = 60.0) -> bool:
        """Return whether every container of the pool is warm within this time."""
        return self._pool.wait_full(seconds)

    @property
    def fill(self) -> PoolFill:
        """How full the pool of containers is."""
        return self._pool.fill

    def languages(self) -> Mapping[str, str | None]:
        """Return the languages with their versions; ``None`` when not installed."""
        return dict(self._languages)

    def require(self, language: str) -> None:
        """Raise LanguageUnavailable if the language is not installed."""
        if self._languages.get(language) is None:
            spec = self._specs.get(language)
            install = "" if spec is None else f": install {spec.install}"
            raise LanguageUnavailable(f"{language} is not installed where code runs{install}.")

    @contextmanager
    def run(self, run: Run, cancelled: Flag | None = None, on_output: OnOutput | None = None) -> Iterator[Outcome]:
        """Run once in a single-use container; files of the outcome live until the context ends.

        Raises: SandboxUnavailable, LanguageUnavailable, JobCancelled.
        """
        self.require(run.language)
        # Until its outcome has been processed: the client waits for that too.
        with self._own.temporary("run") as folder, ExitStack() as held, self._pool.running():
            with tracing.span("sandbox run", assay__language=run.language) as recorded:
                outcome = self._outcome(run, folder, held, cancelled, on_output)
                recorded.set(assay__verdict=outcome.verdict.value)
            yield outcome

    def _outcome(
        self, run: Run, folder: TemporaryFolder, held: ExitStack, cancelled: Flag | None, on_output: OnOutput | None
    ) -> Outcome:
        for attempt in range(_ATTEMPTS):
            try:
                container = self._pool.take(run.language)
            except SandboxUnavailable:
                if attempt == _ATTEMPTS - 1 or self._closed:
                    raise
                self._pool.wake()
                continue
            try:
                outcome = self._run_in(container, run, folder, held, cancelled, on_output)
            finally:
                self._pool.retire(container)
            if outcome is not None:
                return outcome
            self._pool.wake()
        raise InternalError("The sandbox broke while the code ran, more than once; submit it again.")

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Create a folder for the files of one job; when the worker is killed, the next one removes it."""
        with self._own.temporary("job") as folder:
            yield folder.path

    def _table_holds(self, table: Path) -> bool:
        return holds_together(self.run, table)

    @contextmanager
    def session(self, language: str, limits: Limits, files: Mapping[str, Path]) -> Iterator[Session]:
        """Start a kernel for one document. Raises: SandboxUnavailable, LanguageUnavailable."""
        self.require(language)
        with self._own.temporary("session") as folder:
            container = self._pool.take(language)
            idle = self._settings.session_idle_seconds
            session: Session | None = None
            try:
                session = Session(container, limits, files, folder, self.isolation, self._table_holds, idle)
                yield session
            finally:
                if session is not None:
                    session.close()
                container.close()

    def _run_in(
        self,
        container: Container,
        run: Run,
        folder: TemporaryFolder,
        held: ExitStack,
        cancelled: Flag | None,
        on_output: OnOutput | None,
    ) -> Outcome | None:
        supervision = Supervision(container, run.limits, secrets.token_hex(8), cancelled, on_output, run.until)
        facts = supervision.facts
        held.callback(facts.close)
        with PreparedRun(run, container.spec, folder, self._detached.open) as prepared:
            container.limit(run.limits, prepared.given_mb)
            start = {**prepared.start, "grouped": container.grouped}
            supervision.drive(start, prepared.descriptors, prepared.request, run.stdin)
        if facts.cancelled:
            raise JobCancelled("The job was cancelled while its code ran.")
        if facts.alive:
            _make_unchangeable(container, facts)
        codec = container.spec.codec
        return bring_out(run, codec, facts, container.counted(), folder, self.isolation, self._table_holds)


def _make_unchangeable(container: Container, facts: Facts) -> None:
    """Copy small output files of a sandbox that lives on: they could change while they are checked and read."""
    if all(size <= _MAX_COPIED for size, _ in facts.out.values()):
        for name, (size, descriptor) in facts.out.items():
            facts.out[name] = (size, _copy(descriptor, size))
            os.close(descriptor)
    else:
        container.kill()
        if not container.gone():
            raise SandboxUnavailable("A sandbox does not end.")
    facts.alive = False


def _copy(source: int, size: int) -> int:
    target = os.memfd_create("out", os.MFD_CLOEXEC)
    offset = 0
    while offset < size and (sent := os.sendfile(target, source, offset, size - offset)):
        offset += sent
    return target
