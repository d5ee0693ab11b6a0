"""``python -m services.execution``: the worker process."""

from services.execution.worker import main

if __name__ == "__main__":
    main()
