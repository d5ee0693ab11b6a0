"""The files of a tenant as a running job reads and writes them."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from obstore.store import ObjectStore
from sqlalchemy import Engine, select

from shared import blobs
from shared.blobs import files
from shared.contracts.files import FileInfo
from shared.errors import NotFound


@dataclass(frozen=True)
class JobFiles:
    """See ``shared.jobs.job.Files``."""

    engine: Engine
    store: ObjectStore
    tenant_id: str
    job_id: str
    _known: dict[str, FileInfo] = field(default_factory=dict)  #: a file never changes

    def info(self, file_id: str) -> FileInfo:
        known = self._known.get(file_id)
        if known is None:
            query = select(files).where(files.c.id == file_id, files.c.tenant_id == self.tenant_id)
            with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                row = connection.execute(query).mappings().first()
            if row is None:
                raise NotFound(f"There is no file {file_id}. Upload it again and submit a new job.")
            known = self._known[file_id] = FileInfo.model_validate(dict(row))
        return known

    def open(self, file_id: str) -> closing[BinaryIO]:
        return closing(blobs.read(self.store, self.info(file_id).sha256))

    def fetch(self, file_id: str, target: Path) -> FileInfo:
        info = self.info(file_id)
        blobs.fetch(self.store, info.sha256, target)
        return info

    def save(self, name: str, content: bytes | Path | BinaryIO, media_type: str) -> FileInfo:
        blob = blobs.write(self.store, content)
        info = FileInfo(id=_new_id(), name=name, size=blob.size, sha256=blob.sha256, media_type=media_type)
        row = {**info.model_dump(exclude={"created_at"}), "tenant_id": self.tenant_id, "job_id": self.job_id}
        with self.engine.begin() as connection:
            connection.execute(files.insert().values(row))
        return info


def _new_id() -> str:
    return str(uuid.uuid4())
