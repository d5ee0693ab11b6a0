"""``python -m services.host.first_key [TENANT]``: print a new admin key, for deployments that `assay up` does not run.

It needs DATABASE_URL and nothing else; every further key can be made over the API.
"""

from __future__ import annotations

import sys

from shared import keys
from shared.db import connect
from shared.settings import DatabaseSettings, run


def main() -> None:
    url = DatabaseSettings().database_url
    tenant = sys.argv[1] if len(sys.argv) > 1 else "default"
    engine = connect(url)
    try:
        with engine.begin() as connection:
            _, key = keys.create(connection, tenant=tenant, name="first", scopes=["read", "write", "admin"])
    finally:
        engine.dispose()
    print(key)  # noqa: T201


if __name__ == "__main__":
    run(main)
