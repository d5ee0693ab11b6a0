"""The packages that lock files pin, for the bills of materials: each once, and which service they belong to."""

from __future__ import annotations

from services.stacks.tree import ancestors, parent
from shared.contracts.detect import DetectResult, LockFile, Service


def pinned(result: DetectResult) -> dict[str, list[str]]:
    """Package URL to the lock files that pin it, both in order."""
    files: dict[str, list[str]] = {}
    for lock in result.locks:
        for url in lock.packages:
            files.setdefault(url, []).append(lock.file)
    return dict(sorted(files.items()))


def packages_of(service: Service, result: DetectResult) -> list[str]:
    """Return the pins of the lock files of the nearest folder at or above the service, in order."""
    folders: dict[str, list[LockFile]] = {}
    for lock in result.locks:
        folders.setdefault(parent(lock.file), []).append(lock)
    nearest = next((folders[folder] for folder in ancestors(service.path) if folder in folders), [])
    return sorted({url for lock in nearest for url in lock.packages})
