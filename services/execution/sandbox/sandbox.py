"""The sandbox of a worker: one warm box, slots behind walls, and a verdict for whatever runs in them."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Flag
from types import TracebackType
from typing import Literal

from services.execution.sandbox.box import Box
from services.execution.sandbox.cgroups import Groups
from services.execution.sandbox.languages import installed_languages, unavailable
from services.execution.sandbox.outcome import bring_out
from services.execution.sandbox.pool import Pool
from services.execution.sandbox.request import Order
from services.execution.sandbox.run import OnOutput, Outcome, Run
from services.execution.sandbox.runtime import describe_runtime
from services.execution.sandbox.session import KernelSession
from services.execution.sandbox.settings import SandboxSettings
from services.execution.sandbox.slot import Slot
from services.execution.sandbox.supervise import Supervision
from services.execution.sandbox.tables import holds_together
from services.execution.sandbox.verdict import judge
from shared.contracts.execute import Language, Limits
from shared.errors import InternalError, JobCancelled, SandboxUnavailable

_ATTEMPTS = 2  #: a room that breaks by itself is replaced once


def open_sandbox(settings: SandboxSettings) -> WarmSandbox:
    """Start the box and prove that it holds. Raises: SandboxUnavailable."""
    return WarmSandbox(settings)


class WarmSandbox:
    """Implements ``services.execution.sandbox.run.Sandbox``; threads may share it."""

    def __init__(self, settings: SandboxSettings) -> None:
        self._settings = settings
        self._runtime = describe_runtime(settings)
        self._languages = installed_languages()
        self._box: Box | None = None
        self._groups = Groups() if settings.cgroups else None
        self._fault: SandboxUnavailable | None = None
        self._opened = threading.Event()
        wanted: dict[str, int] = {language: 1 for language, version in self._languages.items() if version is not None}
        wanted["python"] = settings.slots
        self._pool = Pool(self._make_slot, wanted, settings.max_age_seconds)
        # The box dies with the thread that started it, so that thread is the one that keeps the pool.
        self._keeper = threading.Thread(target=self._keep, name="sandbox-keeper", daemon=True)
        self._keeper.start()
        self._opened.wait()
        if self._fault is not None:
            self.close()
            raise self._fault

    def _keep(self) -> None:
        try:
            self._box = Box(self._runtime, self._settings.uid)
            self._box.wait_warm()
        except SandboxUnavailable as fault:
            self._fault = fault
            return
        finally:
            self._opened.set()
        self._pool.keep()

    def _make_slot(self, language: str) -> Slot:
        if self._box is None:
            raise SandboxUnavailable("The box is not open.")
        return Slot(self._box, language, None if self._groups is None else self._groups.make())

    def __enter__(self) -> WarmSandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every process and remove every trace."""
        self._pool.close()
        self._keeper.join(timeout=30)
        if self._box is not None:
            self._box.close()
        if self._groups is not None:
            self._groups.close()

    @property
    def tier(self) -> Literal["ns", "microvm"]:
        return self._settings.claimed_tier

    def languages(self) -> Mapping[str, str | None]:
        return {str(language): version for language, version in self._languages.items()}

    def require(self, language: Language) -> None:
        """Raises: LanguageUnavailable."""
        if self._languages[language] is None:
            raise unavailable(language)

    @contextmanager
    def run(self, run: Run, cancelled: Flag | None = None, on_output: OnOutput | None = None) -> Iterator[Outcome]:
        self.require(run.language)
        with TemporaryDirectory(prefix="assay-run-", ignore_cleanup_errors=True) as folder:
            yield self._outcome(run, Path(folder), cancelled, on_output)

    def _outcome(self, run: Run, folder: Path, cancelled: Flag | None, on_output: OnOutput | None) -> Outcome:
        for _ in range(_ATTEMPTS):
            slot = self._pool.take(run.language)
            try:
                outcome = self._run_in(slot, run, folder, cancelled, on_output)
            finally:
                slot.close()
            if outcome is not None:
                return outcome
        raise InternalError("The room broke twice while the code ran; submit it again.")

    def _table_holds(self, table: Path) -> bool:
        return holds_together(self.run, table)

    @contextmanager
    def session(self, language: Language, limits: Limits, files: Mapping[str, Path]) -> Iterator[KernelSession]:
        self.require(language)
        with TemporaryDirectory(prefix="assay-session-", ignore_cleanup_errors=True) as folder:
            slot = self._pool.take(language)
            try:
                yield KernelSession(slot, limits, files, Path(folder), self.tier, self._table_holds)
            finally:
                slot.close()

    def _run_in(
        self, slot: Slot, run: Run, folder: Path, cancelled: Flag | None, on_output: OnOutput | None
    ) -> Outcome | None:
        supervision = Supervision(slot, run.limits, secrets.token_hex(8), cancelled, on_output)
        facts = supervision.facts
        try:
            with Order(run) as order:
                slot.limit(run.limits, order.given_mb)
                supervision.drive({**order.start, "grouped": slot.grouped}, order.descriptors, order.request, run.stdin)
            if facts.cancelled:
                raise JobCancelled("The job was cancelled while its code ran.")
            return bring_out(run, facts, slot.counted(), folder, self.tier, judge, self._table_holds)
        finally:
            facts.close()
