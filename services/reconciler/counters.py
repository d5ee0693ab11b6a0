"""Upkeep of what triggers keep: changes of counts are added up, and now and then everything is counted again."""

from __future__ import annotations

import time

import structlog
from sqlalchemy import Engine

from shared.jobs.record import counts

log = structlog.get_logger(__name__)

_MEND_SECONDS = 600.0
_BATCH = 20_000


class Upkeep:
    """One round a second; only the leading reconciler does it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._mend_at = 0.0

    def work(self) -> None:
        self.add_up()
        if time.monotonic() >= self._mend_at:
            self.mend()
            self._mend_at = time.monotonic() + _MEND_SECONDS

    def add_up(self) -> None:
        """Add up the changes until few are left."""
        while True:
            with self._engine.begin() as connection:
                moved = connection.execute(counts.add_up(_BATCH)).scalar_one()
            if moved < _BATCH:
                return

    def mend(self) -> None:
        """Compare counts, heads and turns with the jobs themselves, and put right what differs."""
        with self._engine.begin() as connection:
            wrong = connection.execute(counts.MEND_COUNTS).all()
        self.add_up()
        with self._engine.begin() as connection:
            connection.execute(counts.MEND_SUMS)
            heads = connection.execute(counts.MEND_HEADS).all()
            turns = connection.execute(counts.MEND_TURNS).all()
        if wrong or heads or turns:
            log.warning("bookkeeping_mended", counts=len(wrong), heads=len(heads), turns=len(turns))
