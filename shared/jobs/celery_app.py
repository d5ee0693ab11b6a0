"""The Celery application: workers run from it, and ``celery -A shared.jobs.celery_app`` inspects them.

Importing this module reads no setting; ``app`` is made from ``REDIS_URL`` and ``ASSAY_CELERY`` when it is first used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from celery import Celery

from shared.jobs.delivery import transport
from shared.jobs.delivery.notifications import PREFIX
from shared.redis_urls import broker
from shared.settings import CelerySettings

#: A worker holds a notification until its task ends, and takes no more of them than it has threads. A notification
#: that is held for longer than the visibility timeout is delivered again, which is harmless.
_SETTINGS: Mapping[str, Any] = {
    "accept_content": ["json"],
    "task_serializer": "json",
    "task_protocol": 2,
    "task_acks_late": True,
    "worker_prefetch_multiplier": 1,
    "worker_pool": "threads",
    # Results and retries are kept in Postgres.
    "task_ignore_result": True,
    "task_store_errors_even_if_ignored": False,
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    "broker_connection_timeout": 2,
}
_TRANSPORT: Mapping[str, Any] = {
    "global_keyprefix": PREFIX,
    "visibility_timeout": 3600,
    "health_check_interval": 5,
    "socket_keepalive": True,
    "socket_timeout": 5,
    "socket_connect_timeout": 2,
    "retry_on_timeout": True,
}


def celery_app(settings: CelerySettings) -> Celery:
    """Return an application whose queues are named like the kinds of jobs, with the operator's settings on top."""
    transport.register()
    address, own = broker(settings.redis_url), settings.assay_celery
    options = own.get("broker_transport_options")
    of_transport = {**_TRANSPORT, **address.transport, **(options if isinstance(options, dict) else {})}
    app = Celery("assay", broker=address.url)
    app.conf.update({**_SETTINGS, **address.settings, **own, "broker_transport_options": of_transport})
    return app


def __getattr__(name: str) -> Celery:
    """Make ``app``, which the ``celery`` command looks up. Raises: AttributeError."""
    if name != "app":
        raise AttributeError(name)
    app: Celery = globals().setdefault(name, celery_app(CelerySettings()))
    return app


def arguments(kinds: Sequence[str], name: str, concurrency: int) -> list[str]:
    """Return the command line of a worker of these kinds; workers do not talk to each other."""
    return [
        "--quiet",
        "worker",
        f"--queues={','.join(kinds)}",
        f"--hostname={name}",
        f"--concurrency={concurrency}",
        "--loglevel=WARNING",
        "--without-gossip",
        "--without-mingle",
    ]
