"""``python -m services.search``: the worker process."""

from services.search.worker import main

if __name__ == "__main__":
    main()
