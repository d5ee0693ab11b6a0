"""Celery, wrapped once: it carries notifications and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from celery import Celery

from shared.jobs.notifications import queue_name


def celery_app(redis_url: str, concurrency: int) -> Celery:
    """An app whose worker takes notifications: as many as it has free threads, acknowledged early, results nowhere."""
    app = Celery("assay", broker=broker_url(redis_url))
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_protocol=2,
        # Results, retries and redelivery are Postgres's affair: a notification may be lost.
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        task_acks_late=False,
        task_default_queue=queue_name("none"),
        worker_pool="shared.jobs.pool:WakingPool",
        worker_concurrency=concurrency,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        worker_send_task_events=False,
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_connection_timeout=2,
        broker_transport_options={
            "visibility_timeout": 3600,
            "health_check_interval": 5,
            "socket_keepalive": True,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "retry_on_timeout": True,
        },
    )
    return app


def arguments(kinds: Sequence[str], name: str) -> list[str]:
    """The command line of a worker that listens for these kinds; workers do not talk to each other."""
    queues = ",".join(queue_name(kind) for kind in kinds)
    return [
        "--quiet",
        "worker",
        f"--queues={queues}",
        f"--hostname={name}",
        "--loglevel=WARNING",
        "--without-gossip",
        "--without-mingle",
        "--without-heartbeat",
    ]


def broker_url(redis_url: str) -> str:
    """The URL as kombu spells it: a unix socket is ``redis+socket://``."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    return f"redis+socket://{parts.path}?virtual_host={dict(_pairs(parts.query)).get('db', '0')}"


def _pairs(query: str) -> list[tuple[str, str]]:
    return [(name, value) for name, _, value in (part.partition("=") for part in query.split("&")) if name]
