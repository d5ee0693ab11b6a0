"""Logs: one JSON object a line, with the request, job and trace it belongs to; never a prompt or a secret."""

from __future__ import annotations

import logging
import sys

import orjson
import structlog


def configure(service: str, level: str = "INFO") -> None:
    """Send structlog and the standard library's loggers of this process to standard error as JSON lines."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(_as_json),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # These speak of every request; what matters of them is in our own lines.
    for chatty in ("httpx", "httpx2", "httpcore", "urllib3"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    # Our lines do not say these, and looking them up is a good part of what a line costs.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    structlog.contextvars.bind_contextvars(service=service)


def _as_json(line: object, **_: object) -> str:
    return orjson.dumps(line, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
