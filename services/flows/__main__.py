"""``python -m services.flows``: the worker process."""

from services.flows.worker import main
from shared.settings import run

if __name__ == "__main__":
    run(main)
