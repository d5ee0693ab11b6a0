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


#: The commands of remote control that a worker serves. They change nothing but the events that it sends, so access to
#: Redis is not control over workers.
_SERVED = frozenset({
    "active", "active_queues", "clock", "disable_events", "enable_events", "heartbeat", "hello", "ping", "query_task",
    "registered", "reserved", "revoked", "scheduled", "stats",
})  # fmt: skip


def celery_app(settings: CelerySettings, service: str = "") -> Celery:
    """Return an application whose queues are named like the kinds of jobs, with the operator's settings on top.

    ``service``: of a worker, whose unacknowledged notifications are kept apart from those of other services.
    """
    transport.register()
    address, own = broker(settings.redis_url), settings.assay_celery
    options = own.get("broker_transport_options")
    keys = ("unacked", "unacked_index", "unacked_mutex") if service else ()
    kept = {f"{key}_key": f"{service}:{key}" for key in keys}
    of_transport = {**_TRANSPORT, **kept, **address.transport, **(options if isinstance(options, dict) else {})}
    app = Celery("assay", broker=address.url)
    app.conf.update({**_SETTINGS, **address.settings, **own, "broker_transport_options": of_transport})
    return app


def __getattr__(name: str) -> Celery:
    """Make ``app``, which the ``celery`` command looks up. Raises: AttributeError."""
    if name != "app":
        raise AttributeError(name)
    app: Celery = globals().setdefault(name, celery_app(CelerySettings()))
    return app


def serve_inspection_only() -> None:
    """Leave `celery inspect` and Flower's events, and drop the commands that stop or change a worker."""
    from celery.worker.control import Panel  # noqa: PLC0415 - loads Celery's worker

    for name in Panel.data.keys() - _SERVED:
        del Panel.data[name]
    stats = Panel.data["stats"]

    def without_address(state: Any, **options: Any) -> dict[str, Any]:  # noqa: ANN401 - as Celery has it
        """Return the statistics without the broker, whose address holds the password of this worker."""
        return {name: value for name, value in stats(state, **options).items() if name != "broker"}

    Panel.data["stats"] = without_address


def run_worker(app: Celery, kinds: Sequence[str], name: str, concurrency: int) -> None:
    """Run a worker of these kinds until it is stopped; workers do not talk to each other.

    Not through ``Celery.worker_main``, which loads Celery's command line and its shell: 13 MB that stay.
    """
    worker = app.Worker(
        hostname=name,
        queues=[*kinds],
        concurrency=concurrency,
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
    )
    worker.start()
