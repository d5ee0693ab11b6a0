"""The Redis user of each service: the keys and channels of its own work, and no command that shows others.

``python -m services.host.redis_users`` prints the table as rules of an ACL, for the operator of a Redis server.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from migrations.roles import SERVICES
from shared.jobs.delivery.notifications import EVENTS_CHANNEL, PREFIX, queue_name
from shared.kinds import KINDS

#: No command that administers the server, or shows or empties what other services keep.
_COMMANDS = "+@all -@admin -@dangerous -scan -randomkey -dbsize -pubsub -swapdb -wait +info"
_HEALTH = f"~{PREFIX}llm:*"  # of model providers, and the slots of their calls
_RATES = f"~{PREFIX}rate*"
_EVENTS = f"&{EVENTS_CHANNEL}"
#: Of database 0. Kombu subscribes to it as to a pattern, which a rule has to name literally.
_CONTROL = f"&{PREFIX}/0.celery.pidbox"
#: The owner is the operator: `celery inspect`, `purge`, Flower.
EVERYTHING = "allkeys allchannels +@all -@admin -@dangerous +info"


def rights_of(service: str) -> str:
    """Return the rules of a service's user, without its password; an unknown service is the operator's own."""
    rules = _rules(service)
    return EVERYTHING if rules is None else " ".join(["resetkeys", "resetchannels", *rules, _COMMANDS])


def _rules(service: str) -> Sequence[str] | None:
    match service:
        case "gateway":
            return [*_queues(list(KINDS)), _HEALTH, _RATES, _EVENTS]
        case "reconciler":
            return [*_queues(list(KINDS)), _EVENTS]
        case "broker":
            return [_HEALTH]
        case "execution":
            return _worker(service)
        case "search" | "flows" | "stacks":
            return [*_worker(service), _HEALTH]
        case _:
            return None


def _worker(service: str) -> list[str]:
    """Return a worker's rules: its queues, its unacknowledged notifications, and Celery's inspection."""
    kinds = [name for name, kind in KINDS.items() if kind.service == service]
    bindings = [f"~{PREFIX}_kombu.binding*.{name}" for name in ("*celery.pidbox", "celeryev", *kinds)]
    bindings.append(f"~{PREFIX}_kombu.binding_deadlines")
    inbox = f"~{PREFIX}{service}-*@*.celery.pidbox*"  # of one worker: SERVICE-PID@HOST
    inspection = [inbox, f"~{PREFIX}*.reply.celery.pidbox*", _CONTROL, f"&{PREFIX}/*celeryev*"]
    return [*_queues(kinds), f"~{PREFIX}{service}:*", *bindings, *inspection, _EVENTS]


def _queues(kinds: Sequence[str]) -> list[str]:
    """Return the lists of these kinds, with those of Celery's other priorities."""
    return [f"~{queue_name(kind)}{rest}" for kind in kinds for rest in ("", "??[0-9]")]


if __name__ == "__main__":
    for name in SERVICES:
        sys.stdout.write(f"user {name} on >PASSWORD {rights_of(name)}\n")
