"""All lock files of a source, with the packages that each pins."""

from __future__ import annotations

from services.stacks.locks.purl import purl
from services.stacks.locks.readers import FORMS, LeftOut
from services.stacks.packages.survey import Survey
from services.stacks.tree import MANIFEST_BYTES, join
from shared.contracts.detect import LeftOutPackage, LockFile

#: Over all lock files of a source; ``complete`` and a warning report the excess.
MAX_PACKAGES = 20_000
_MAX_FILES = 500
#: A longer name or version is ignored.
_LONGEST = 300
#: Entries of one lock file that are named as left out.
_MAX_LEFT_OUT = 100


def lock_files(survey: Survey) -> list[LockFile]:
    """Outside of tests' fixtures and what the source's own ignore files leave out, in the order of their paths."""
    locks: list[LockFile] = []
    left = MAX_PACKAGES
    for folder in survey.scan.folders.values():
        if folder.fixture:
            continue
        for name in sorted(FORMS.keys() & folder.files.keys()):
            path = join(folder.path, name)
            if path in survey.scan.skipped or len(locks) >= _MAX_FILES:
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
        entries = list(form.read(body.decode("utf-8-sig", "replace").replace("\r\n", "\n")))
    except (ValueError, RecursionError):
        survey.warnings.append(f"{path}: could not be understood")
        return LockFile(file=path, packages=[], complete=False)
    left_out = {entry for entry in entries if isinstance(entry, LeftOut)}
    pinned: set[str] = set()
    for package, version in (entry for entry in entries if not isinstance(entry, LeftOut)):
        if len(package) + len(version) <= _LONGEST:
            pinned.add(purl(form.kind, package, version))
        else:
            left_out.add(LeftOut(package[:_LONGEST], "no version"))
    if len(pinned) > most:
        survey.warnings.append(f"{path}: only {most:,} of its {len(pinned):,} packages are listed")
    if left_out:
        shown = ", ".join(sorted(f"{entry.name} ({entry.reason})" for entry in left_out)[:3])
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        survey.warnings.append(f"{path}: the bill leaves out what no registry has: {shown}{more}")
    return LockFile(
        file=path,
        packages=sorted(pinned)[:most],
        complete=len(pinned) <= most and not left_out,
        left_out=[LeftOutPackage(name=entry.name, reason=entry.reason) for entry in sorted(left_out)[:_MAX_LEFT_OUT]],
        left_out_count=len(left_out),
    )
