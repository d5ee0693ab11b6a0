"""A value that follows the database: read again when it is used and more than a second old."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from sqlalchemy.exc import SQLAlchemyError

log = logging.getLogger(__name__)

Value = TypeVar("Value")

MAX_AGE = 1.0  #: seconds; every replica follows a change within two


class Fresh(Generic[Value]):
    """Reads with ``load``; keeps the last value, at first ``initial``, while the database cannot be reached."""

    def __init__(self, load: Callable[[], Value], initial: Value, max_age: float = MAX_AGE) -> None:
        self._load = load
        self._value = initial
        self._max_age = max_age
        self._read_at = -float("inf")
        self._reading = threading.Lock()

    def get(self) -> Value:
        now = time.monotonic()
        never = self._read_at == -float("inf")
        # While one thread reads, the others go on with the value they have; the very first time they wait.
        if now - self._read_at >= self._max_age and self._reading.acquire(blocking=never):
            try:
                if self._read_at < now - self._max_age:
                    self._value = self._load()
            except SQLAlchemyError as error:
                log.warning("the database cannot be reached, settings stay as they were: %s", type(error).__name__)
            finally:
                self._read_at = time.monotonic()
                self._reading.release()
        return self._value

    def expire(self) -> None:
        """Read again at the next use: this process has changed it."""
        self._read_at = -float("inf")
