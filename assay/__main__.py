"""``python -m assay`` is the `assay` command."""

from assay.command import main

if __name__ == "__main__":
    main()
