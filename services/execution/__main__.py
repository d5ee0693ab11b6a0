"""``python -m services.execution``: the worker process."""

from services.execution.worker import main
from shared.settings import run

if __name__ == "__main__":
    run(main)
