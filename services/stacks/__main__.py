"""``python -m services.stacks``: the worker process."""

from services.stacks.worker import main
from shared.settings import run

if __name__ == "__main__":
    run(main)
