"""Documents that a process has read: a start for reading newer versions, never more than a cache."""

from __future__ import annotations

import threading
from collections import OrderedDict

from shared.flows.document import Document


class DocumentCache:
    """The latest known document of each of the flows used last, within a number of elements; safe among threads."""

    def __init__(self, most_elements: int = 150_000) -> None:
        self._most = most_elements
        self._held = 0
        self._known: OrderedDict[str, tuple[int, Document]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, flow_id: str, version: int) -> tuple[int, Document] | None:
        """Return the document at that version or an earlier one, with its version."""
        with self._lock:
            known = self._known.get(flow_id)
            if known is None or known[0] > version:
                return None
            self._known.move_to_end(flow_id)
            return known

    def keep(self, flow_id: str, version: int, document: Document) -> None:
        """Remember a committed version; an older one than what is known changes nothing."""
        with self._lock:
            known = self._known.get(flow_id)
            if known is not None:
                if known[0] >= version:
                    return
                self._held -= _weight(known[1])
            self._known[flow_id] = (version, document)
            self._known.move_to_end(flow_id)
            self._held += _weight(document)
            while self._held > self._most and len(self._known) > 1:
                _, (_, dropped) = self._known.popitem(last=False)
                self._held -= _weight(dropped)


def _weight(document: Document) -> int:
    return len(document.nodes) + len(document.edges) + len(document.settings) + 1
