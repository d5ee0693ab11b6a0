"""``python -m services.search``: the worker process."""

from services.search.worker import main
from shared.settings import run

if __name__ == "__main__":
    run(main)
