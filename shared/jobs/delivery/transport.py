"""Celery's transport on Redis that drops unreadable messages, so that they cannot stop a worker."""

from __future__ import annotations

from typing import Any

import structlog
from kombu import transport
from kombu.transport import redis

log = structlog.get_logger(__name__)

#: Exceptions of reading a message that is not Celery's.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class _QoS(redis.QoS):
    def restore_by_tag(self, tag: Any, client: Any = None, leftmost: bool = False) -> Any:  # noqa: ANN401 - as kombu has it
        try:
            return super().restore_by_tag(tag, client, leftmost)  # type: ignore[no-untyped-call]
        except _UNREADABLE as fault:
            log.warning("message_dropped", reason=type(fault).__name__)
            with self.pipe_or_acquire() as pipe:
                self._remove_from_indices(tag, pipe).execute()  # type: ignore[no-untyped-call]

    def restore_unacked_once(self, stderr: Any = None) -> None:  # noqa: ANN401 - as kombu has it
        """Leave what is held to the reconciler when Celery has given up the connection: kombu would read its address
        from an object that is gone, and the error would end the worker.
        """
        transport = self.channel.connection
        if transport is not None and transport.client is not None:
            super().restore_unacked_once(stderr)  # type: ignore[no-untyped-call]


class _Reading:
    """Of a channel: how it reads."""

    QoS = _QoS

    def _brpop_read(self, **options: Any) -> Any:  # noqa: ANN401 - as kombu has it
        try:
            return super()._brpop_read(**options)  # type: ignore[misc]
        except _UNREADABLE as fault:
            log.warning("message_dropped", reason=type(fault).__name__)
            return True


class _Channel(_Reading, redis.Channel):
    pass


class _SentinelChannel(_Reading, redis.SentinelChannel):
    pass


class Transport(redis.Transport):
    Channel = _Channel


class SentinelTransport(redis.SentinelTransport):
    Channel = _SentinelChannel


def register() -> None:
    """Use them for the schemes of Redis."""
    ours = dict.fromkeys(("redis", "rediss"), f"{__name__}:Transport")
    transport.TRANSPORT_ALIASES.update(ours, sentinel=f"{__name__}:SentinelTransport")
