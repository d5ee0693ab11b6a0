"""``python -m tests.services.loaded MODULE``: import the module, and print the packages that are loaded then."""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    importlib.import_module(sys.argv[1])
    sys.stdout.write(" ".join({name.partition(".")[0] for name in sys.modules}))
