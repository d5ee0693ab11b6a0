"""``python -m services.flows``: the worker process."""

from services.flows.worker import main

if __name__ == "__main__":
    main()
