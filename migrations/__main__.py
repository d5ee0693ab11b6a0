"""``python -m migrations``: bring ``DATABASE_URL`` up to date.

It connects as the owner of the tables. With ``ASSAY_DATABASE_PASSWORD_GATEWAY`` and so on the role of each service may
log in: ``assay_gateway``.
"""

from __future__ import annotations

import os
import sys

from migrations.roles import passwords_of
from migrations.upgrade import upgrade


def main() -> None:
    url = os.environ.get("DATABASE_URL")
    if not url:
        sys.exit("DATABASE_URL is not set: it names the Postgres database to bring up to date")
    upgrade(url, passwords=passwords_of(os.environ))


if __name__ == "__main__":
    main()
