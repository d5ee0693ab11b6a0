"""A worker process: Celery delivers notifications, the runner runs jobs, heartbeats in Postgres advertise it."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import structlog
from celery import Task
from celery.exceptions import SecurityWarning
from celery.signals import setup_logging, worker_ready, worker_shutdown, worker_shutting_down
from prometheus_client import start_http_server
from pydantic import JsonValue
from redis.backoff import NoBackoff
from redis.retry import Retry
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from shared import VERSION, blobs, db, logs, tracing
from shared.db import reason_of
from shared.jobs import metrics
from shared.jobs.celery_app import celery_app, run_worker, serve_inspection_only
from shared.jobs.delivery.notifications import TASK
from shared.jobs.delivery.polling import Poller
from shared.jobs.job import Capability
from shared.jobs.models import open_models
from shared.jobs.record import advertising
from shared.jobs.running.runner import Runner, ServedKind, Stores
from shared.kinds import KINDS
from shared.redis_urls import client
from shared.settings import CelerySettings, JobSettings, StoreSettings

log = structlog.get_logger(__name__)

#: How often a worker advertises itself; the gateway counts it as alive for three times as long.
ADVERTISE_SECONDS = 2.0
#: How long one notification keeps a thread with its kind, while jobs are waiting: being handed the next one by Celery
#: costs more than a short job does. After that Celery decides, which serves its queues in turn.
KIND_SECONDS = 0.1
Facts = Callable[[], Mapping[str, JsonValue]]


class Worker:
    """One process of one service.

    ``facts`` is what ``GET /v1/capabilities`` shows of the service; it is read again for every heartbeat.
    """

    def __init__(
        self, service: str, stores: Stores, settings: JobSettings, redis_url: str, version: str, facts: Facts = dict
    ) -> None:
        self._service = service
        self._stores = stores
        self._settings = settings
        self._redis_url = redis_url
        self._version = version
        self._facts = facts
        self._advertised_at = 0.0
        self._listening = threading.Event()
        self._stopping = threading.Event()
        self._poller: Poller | None = None
        self.runner = Runner(
            stores,
            settings.lease_seconds,
            settings.tenant_running,
            settings.storage_per_tenant,
            settings.default_seconds,
            on_heartbeat=self._look_after,
        )

    @property
    def engine(self) -> Engine:
        """The worker's connections, for capabilities with their own tables."""
        return self._stores.engine

    @property
    def name(self) -> str:
        """What Celery calls the worker: the service, the process and the host."""
        return f"{self._service}-{os.getpid()}@{socket.gethostname()}"

    def serve(self, kind: str, capability: Capability[Any]) -> None:
        """Take jobs of a kind; called before ``run``."""
        self.runner.served[kind] = ServedKind(KINDS[kind].input, capability)

    def load_model(self, role: str) -> None:
        """Load the SDK of the role's first provider now, so that the first request need not wait for it."""
        self._stores.models.load(role)

    def run(self) -> None:
        """Serve until SIGTERM: then take no more work, let jobs finish within the grace, hand back the rest."""
        app = celery_app(CelerySettings(redis_url=self._redis_url), self._service)
        serve_inspection_only()

        def run(task: Task, job_id: str) -> None:
            self._run_jobs(task.request.delivery_info["routing_key"])

        app.task(name=TASK, bind=True)(run)
        setup_logging.connect(_keep_our_logging, weak=False)
        worker_ready.connect(self._ready, weak=False)
        worker_shutting_down.connect(self._drain, weak=False)
        worker_shutdown.connect(self._stopped, weak=False)
        metrics.worker_slots.set(self._settings.concurrency)
        metrics.worker_slots_used.set_function(lambda: len(self.runner.leases.all()))
        metrics.watch_connections(self._stores.engine)
        if self._settings.metrics_port:
            start_http_server(self._settings.metrics_port)
        self.runner.leases.start()
        kinds = sorted(self.runner.served)
        self._poller = self._polling(kinds)
        self._poller.start()
        log.info("worker_started", worker=self.runner.id, kinds=kinds)
        # Celery warns root because of pickle; only JSON is accepted here, and jobs' code runs in the sandbox.
        warnings.filterwarnings("ignore", category=SecurityWarning)
        run_worker(app, kinds, self.name, self._settings.concurrency)

    def _polling(self, kinds: list[str]) -> Poller:
        leases, slots = self.runner.leases, self._settings.concurrency
        return Poller(self._stores.redis, kinds, slots, lambda: len(leases.all()), self.runner.run_next)

    def stand_by(self, reason: str) -> None:
        """Take no jobs, but advertise why this worker cannot work, until SIGTERM."""
        log.error("standing_by", reason=reason)
        stop = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        self.runner.leases.start()
        self._ready()
        stop.wait()
        self._stopped()

    def _run_jobs(self, kind: str) -> None:
        """Run jobs of a kind, one after the other, until none is waiting or it is the turn of another kind."""
        if kind not in self.runner.served:  # anyone may write to Redis: trust nothing that comes from it
            return
        end = time.monotonic() + KIND_SECONDS
        try:
            while self.runner.run_next(kind) and time.monotonic() < end and not self._stopping.is_set():
                pass
        except SQLAlchemyError as fault:
            # The notification is used up, but the job still waits: the reconciler notifies again when Postgres is back.
            log.warning("notification_not_answered", kind=kind, reason=reason_of(fault))

    def _look_after(self) -> None:
        """Check for stuck jobs and advertise the worker, with every heartbeat."""
        if not self._stopping.is_set() and (stuck := self.runner.leases.stuck()):
            # Its thread cannot be ended: hand back the other jobs and end the process; its supervisor starts another.
            log.error("slot_not_returned", jobs=[lease.job_id for lease in stuck])
            os.kill(os.getpid(), signal.SIGTERM)
        self._advertise_now_and_then()

    def _advertise_now_and_then(self) -> None:
        now = time.monotonic()
        if not self._listening.is_set() or now - self._advertised_at < ADVERTISE_SECONDS:
            return
        self._settings.say_ready()
        statement = advertising.advertise(
            self.runner.id,
            self._service,
            sorted(self.runner.served),
            self._settings.concurrency,
            self._version,
            self._facts(),
        )
        with self._stores.engine.begin() as connection:
            connection.execute(statement)
        self._advertised_at = now

    def _ready(self, **_: object) -> None:
        """Advertise the worker, which listens from now on, then make the ready file."""
        self._listening.set()
        with suppress(SQLAlchemyError):
            self._advertise_now_and_then()
        self._settings.say_ready()

    def _drain(self, **_: object) -> None:
        """Limit the wait for running jobs, which is unlimited in Celery; after the grace period they go to another
        worker.
        """
        self._stopping.set()
        if self._poller is not None:
            self._poller.stop()
        log.info("worker_stopping", running=len(self.runner.leases.all()))
        threading.Thread(target=self._end_in_time, name="grace", daemon=True).start()

    def _end_in_time(self) -> None:
        """Give up after the grace, or as soon as only jobs are left that are over."""
        ends = time.monotonic() + self._settings.grace_seconds
        while time.monotonic() < ends:
            stuck = self.runner.leases.stuck()
            if stuck and len(stuck) == len(self.runner.leases.all()):
                break
            time.sleep(0.2)
        self._give_up()

    def _give_up(self) -> None:
        self.runner.hand_back_all()
        self._stopped()
        # The jobs have been handed back, and their threads cannot be ended in any other way.
        os._exit(0)

    def _stopped(self, **_: object) -> None:
        self.runner.leases.stop()
        tracing.close()
        with suppress(SQLAlchemyError), self._stores.engine.begin() as connection:
            connection.execute(advertising.retire(self.runner.id))


def _keep_our_logging(**_: object) -> None:
    """Celery would set the level of the root logger, and with it silence our line for each job."""
    for chatty in ("celery", "kombu", "amqp"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def open_stores(settings: StoreSettings, connections: int) -> Stores:
    """Connect to everything a worker needs; no server is contacted before the first job."""
    engine = db.connect(settings.database_url, connections)
    # Tried once more at once, as a restart breaks connections, and not for seconds: a job waits for each notification.
    again = Retry(NoBackoff(), 1)
    redis = client(settings.redis_url, socket_timeout=2, socket_connect_timeout=1, retry=again)
    return Stores(engine, redis, blobs.open_store(settings.blob_url), open_models(engine, settings.redis_url))


def open_worker(service: str, facts: Facts = dict) -> Worker:
    """Open a worker of a service, ready for ``serve`` and ``run``."""
    logs.configure(service)
    tracing.configure(service)
    settings, where = JobSettings(), StoreSettings()
    # A job holds one only while it reads or writes, never two; heartbeats need theirs too.
    stores = open_stores(where, settings.concurrency + 1)
    return Worker(service, stores, settings, where.redis_url, VERSION, facts)
