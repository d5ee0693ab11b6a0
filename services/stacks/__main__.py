"""``python -m services.stacks``: the worker process."""

from services.stacks.worker import main

if __name__ == "__main__":
    main()
