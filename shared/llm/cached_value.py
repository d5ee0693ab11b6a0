"""A value that follows the database: read again when it is used and more than a second old."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from shared.db import reason_of

log = logging.getLogger(__name__)

Value = TypeVar("Value")

MAX_AGE = 1.0  #: seconds; every replica follows a change within two


class Fresh(Generic[Value]):
    """Reads with ``load``; keeps the last value, at first ``initial``, while the database cannot be reached."""

    def __init__(self, load: Callable[[], Value], initial: Value, max_age: float = MAX_AGE) -> None:
        self._load = load
        self._value = initial
        self._max_age = max_age
        self._began_at = self._read_at = self._expired_at = -float("inf")
        self._reading = threading.Lock()

    def get(self) -> Value:
        now = time.monotonic()
        # While one thread reads, the others use the value they have; only the first read blocks them.
        if self._is_old(now) and self._reading.acquire(blocking=self._is_expired()):
            try:
                if self._is_old(now):
                    self._read()
            finally:
                self._reading.release()
        return self._value

    def latest(self) -> Value:
        """Read the value from the database now: an editor must not see a value that is a second old."""
        with self._reading:
            self._read()
            return self._value

    def expire(self) -> None:
        """Read again at the next use: this process has changed it."""
        self._expired_at = time.monotonic()

    def _is_expired(self) -> bool:
        # A read that began before may not have seen what was changed, although it ended later.
        return self._began_at <= self._expired_at

    def _is_old(self, now: float) -> bool:
        return self._is_expired() or now - self._read_at >= self._max_age

    def _read(self) -> None:
        began = time.monotonic()
        try:
            self._value = self._load()
        except SQLAlchemyError as error:
            log.warning("settings were not read and stay as they were: %s", reason_of(error))
        finally:
            self._began_at, self._read_at = began, time.monotonic()
