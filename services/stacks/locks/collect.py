"""All lock files of a source, with the packages that each pins."""

from __future__ import annotations

from services.stacks.locks.purl import purl
from services.stacks.locks.readers import FORMS
from services.stacks.packages.survey import Survey
from services.stacks.tree import MANIFEST_BYTES, join
from shared.contracts.detect import LockFile

#: Over all lock files of a source; what is beyond is told by ``complete`` and a warning.
MOST_PACKAGES = 20_000
_MOST_FILES = 500
#: A name or version that is longer is none.
_LONGEST = 300


def lock_files(survey: Survey) -> list[LockFile]:
    """Outside of tests' fixtures and what the source's own ignore files leave out, in the order of their paths."""
    locks: list[LockFile] = []
    left = MOST_PACKAGES
    for folder in survey.scan.folders.values():
        if folder.fixture:
            continue
        for name in sorted(FORMS.keys() & folder.files.keys()):
            path = join(folder.path, name)
            if path in survey.scan.skipped or len(locks) >= _MOST_FILES:
                continue
            lock = _read(survey, path, name, left)
            left -= len(lock.packages)
            locks.append(lock)
    return sorted(locks, key=lambda lock: lock.file)


def _read(survey: Survey, path: str, name: str, most: int) -> LockFile:
    form = FORMS[name]
    body = survey.scan.tree.read(path)
    if body is None or (len(body) >= MANIFEST_BYTES and survey.scan.tree.size(path) > MANIFEST_BYTES):
        survey.warnings.append(f"{path}: a lock file over {MANIFEST_BYTES >> 20} MB is not read")
        return LockFile(file=path, packages=[], complete=False)
    try:
        pinned = {
            purl(form.kind, package, version)
            for package, version in form.read(body.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
            if len(package) + len(version) <= _LONGEST
        }
    except (ValueError, RecursionError):
        survey.warnings.append(f"{path}: could not be understood")
        return LockFile(file=path, packages=[], complete=False)
    if len(pinned) > most:
        survey.warnings.append(f"{path}: only {most:,} of its {len(pinned):,} packages are told")
    return LockFile(file=path, packages=sorted(pinned)[:most], complete=len(pinned) <= most)
