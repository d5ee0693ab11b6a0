"""What a tenant's input makes the gateway compute, in processes with bounds: a few at once, two of each tenant."""

from __future__ import annotations

from pydantic import JsonValue

from services.gateway.admission.slots import Slots
from shared.bounded_process import Bounds, TaskLost, ValueTask, call_async
from shared.errors import Overloaded

_MAX_OF_TENANT, _MAX_OF_ALL = 2, 6
_WAIT_SECONDS = 20.0


class BoundedWork:
    """Slots of the processes; who waits too long for one is refused."""

    def __init__(self) -> None:
        self._of_tenants = Slots("processes", _MAX_OF_TENANT, seconds=_WAIT_SECONDS, refusal=_busy)
        self._of_all = Slots("processes", _MAX_OF_ALL, seconds=_WAIT_SECONDS, refusal=_busy)

    async def call(self, tenant: str, task: ValueTask, argument: JsonValue, bounds: Bounds) -> JsonValue:
        """Return what the task makes of the argument. Raises: BoundExceeded, Overloaded."""
        async with self._of_tenants.hold(tenant), self._of_all.hold(""):
            try:
                return await call_async(task, argument, bounds)
            except TaskLost:
                raise _busy() from None


def _busy() -> Overloaded:
    return Overloaded("Too much is computed at once; try again later.", retry_after=5)
