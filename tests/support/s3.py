"""A server that speaks S3: moto's, where it is installed (``pip install 'moto[s3,server]'``, in any environment)."""

from __future__ import annotations

import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from obstore.store import ObjectStore

from shared import blobs
from tests.support.ports import free_port
from tests.support.wait import until


@contextmanager
def bucket() -> Iterator[ObjectStore]:
    """A prefix in an empty bucket; without the server the test is skipped."""
    program = shutil.which("moto_server")
    if program is None:
        pytest.skip("moto_server is not on PATH: pip install 'moto[s3,server]'")
    port = free_port()
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=quiet, stderr=quiet)
    try:
        until(lambda: process.poll() is not None or _listens(port), "the S3 server listens", 60)
        endpoint = f"http://127.0.0.1:{port}"
        made = urllib.request.Request(f"{endpoint}/files", method="PUT", headers={"Host": f"127.0.0.1:{port}"})
        urllib.request.urlopen(made, timeout=30).close()
        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("AWS_ENDPOINT_URL", endpoint)
            environment.setenv("AWS_ALLOW_HTTP", "true")
            for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
                environment.setenv(name, "test")
            yield blobs.open_store("s3://files/production")
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
