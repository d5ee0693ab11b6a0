"""Changes of the model registries, each in its own transaction, which includes the audit log's entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar, cast

from fastapi import Depends, Request

from services.gateway.database import UnitOfWork
from services.gateway.http import auditing
from shared.db import also

Answer = TypeVar("Answer")


class RegistryChange:
    """The change that a request makes."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def audited(self, work: Callable[[], Answer]) -> Callable[[], Answer]:
        """Return the work with the audit log's entry in its first transaction."""
        request, state = self._request, self._request.state
        named, detail = auditing.named_in(request), auditing.given(request)
        statements = auditing.entry(state.audit, state.caller, request, named, detail)

        def change() -> Answer:
            with also(statements) as is_added:
                result = work()
                cast(UnitOfWork, state.unit).is_audited = is_added()
            return result

        return change


async def _change(request: Request) -> RegistryChange:
    return RegistryChange(request)


Change = Annotated[RegistryChange, Depends(_change)]
