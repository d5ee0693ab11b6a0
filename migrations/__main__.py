"""``python -m migrations``: bring ``DATABASE_URL`` up to date."""

from __future__ import annotations

import os
import sys

from migrations.upgrade import upgrade


def main() -> None:
    url = os.environ.get("DATABASE_URL")
    if not url:
        sys.exit("DATABASE_URL is not set: it names the Postgres database to bring up to date")
    upgrade(url)


if __name__ == "__main__":
    main()
