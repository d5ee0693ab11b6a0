"""A Qdrant server's documented REST routes over a real socket, on top of the client's local mode; and its faults.

Qdrant's own server comes in no package that a test could install. What is exercised here is the adapter's half of the
wire: the requests it sends (parsed by the published schemas, unknown keys refused) and the answers it must understand.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

Body = bytes
_FAULTS = {
    "garbage": (200, b"<html>It works!</html>"),
    "proxy": (404, b"<html><h1>404 Not ScoredPoint</h1></html>"),
}
_HELD = 20.0  # seconds that a hanging answer waits for the server to be closed


class QdrantServer:
    """Serves one local store; ``fault``: what every answer is instead."""

    def __init__(self, api_key: str | None = None) -> None:
        self.fault: str | None = None  #: ``hang``, ``cut``, ``garbage``, ``proxy``, or a status
        self.indexed: list[tuple[str, Any]] = []  #: (field, schema) as they were requested
        self.seen: list[tuple[str, str]] = []  #: (method, path)
        self.spread: list[tuple[int | None, int | None]] = []  #: (replicas, shards) of what was created
        self._api_key = api_key
        self._local = import_module("qdrant_client").QdrantClient(location=":memory:")
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def close(self) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._local.close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65_537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                server._serve(self, self.command, unquote(urlsplit(self.path).path), body)

            def log_message(self, format: str, *args: object) -> None: ...

        return Handler

    def _serve(self, handler: BaseHTTPRequestHandler, method: str, path: str, body: Body) -> None:
        self.seen.append((method, path))
        if self.fault == "hang":
            self._closing.wait(_HELD)
        if self.fault in ("hang", "cut"):
            handler.close_connection = True
            return
        if self.fault is not None:
            status, answer = _FAULTS.get(self.fault) or (int(self.fault), _refusal("Service internal error"))
        else:
            status, answer = self._answer(handler.headers.get("api-key"), method, path, body)
        handler.send_response(status)
        if status == 429:
            handler.send_header("Retry-After", "1")
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)

    def _answer(self, key: str | None, method: str, path: str, body: Body) -> tuple[int, bytes]:
        if self._api_key is not None and key != self._api_key:
            return 401, b"Must provide an API key or an Authorization bearer token"
        try:
            with self._lock:
                result = self._result(method, path, body)
        except ValueError as fault:
            if "not found" in str(fault):
                return 404, _refusal(f"Not found: Collection `{path.split('/')[2]}` doesn't exist!")
            return 400, _refusal(f"Wrong input: Vector dimension error: {fault}")
        return 200, json.dumps({"result": to_jsonable_python(result), "status": "ok", "time": 0.001}).encode()

    def _result(self, method: str, path: str, body: Body) -> object:
        for verb, pattern, answer in _ROUTES:
            if verb == method and (match := re.fullmatch(pattern, path)):
                return answer(self, self._local, *match.groups(), *([body] if body else []))
        raise AssertionError(f"no route for {method} {path}")


def _model(name: str) -> Any:
    """Return a schema of the client, whose import takes a second: it is left to the tests that serve."""
    return getattr(import_module("qdrant_client.models"), name)


def _exists(_: QdrantServer, local: QdrantClient, name: str) -> object:
    return {"exists": local.collection_exists(name)}


def _create(server: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    wanted = _model("CreateCollection").model_validate_json(body)
    server.spread.append((wanted.replication_factor, wanted.shard_number))
    return local.create_collection(
        name, vectors_config=wanted.vectors or {}, sparse_vectors_config=wanted.sparse_vectors, metadata=wanted.metadata
    )


def _change(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    return local.update_collection(name, metadata=_model("UpdateCollection").model_validate_json(body).metadata)


def _index(server: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    wanted = _model("CreateFieldIndex").model_validate_json(body)
    local.get_collection(name)
    server.indexed.append((wanted.field_name, to_jsonable_python(wanted.field_schema, exclude_none=True)))
    return _done()


def _upsert(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    local.upsert(name, _model("PointsList").model_validate_json(body).points)
    return _done()


def _retrieve(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    wanted = _model("PointRequest").model_validate_json(body)
    vectors = wanted.with_vector or False
    return local.retrieve(name, wanted.ids, with_payload=wanted.with_payload or False, with_vectors=vectors)


def _scroll(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    wanted = _model("ScrollRequest").model_validate_json(body)
    records, offset = local.scroll(
        name, limit=wanted.limit or 10, offset=wanted.offset, with_payload=wanted.with_payload or False
    )
    return {"points": records, "next_page_offset": offset}


def _delete(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    chosen: Any = TypeAdapter(_model("PointsSelector")).validate_json(body)
    local.delete(name, chosen)
    return _done()


def _query(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    return local.query_batch_points(name, _model("QueryRequestBatch").model_validate_json(body).searches)


def _count(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    wanted = _model("CountRequest").model_validate_json(body)
    return local.count(name, count_filter=wanted.filter, exact=bool(wanted.exact))


def _vectors(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    local.update_vectors(name, _model("UpdateVectors").model_validate_json(body).points)
    return _done()


def _facet(_: QdrantServer, local: QdrantClient, name: str, body: Body) -> object:
    wanted = _model("FacetRequest").model_validate_json(body)
    return local.facet(name, wanted.key, limit=wanted.limit or 10, exact=bool(wanted.exact))


def _done() -> object:
    return {"operation_id": 1, "status": "completed"}


_NAME = "/collections/([^/]+)"
_ROUTES: list[tuple[str, str, Callable[..., object]]] = [
    ("GET", "/collections", lambda _, local: local.get_collections()),
    ("GET", f"{_NAME}/exists", _exists),
    ("GET", _NAME, lambda _, local, name: local.get_collection(name)),
    ("PUT", _NAME, _create),
    ("PATCH", _NAME, _change),
    ("DELETE", _NAME, lambda _, local, name: local.delete_collection(name)),
    ("PUT", f"{_NAME}/index", _index),
    ("PUT", f"{_NAME}/points", _upsert),
    ("POST", f"{_NAME}/points", _retrieve),
    ("POST", f"{_NAME}/points/scroll", _scroll),
    ("POST", f"{_NAME}/points/delete", _delete),
    ("POST", f"{_NAME}/points/query/batch", _query),
    ("POST", f"{_NAME}/points/count", _count),
    ("PUT", f"{_NAME}/points/vectors", _vectors),
    ("POST", f"{_NAME}/facet", _facet),
]


def _refusal(text: str) -> bytes:
    return json.dumps({"status": {"error": text}, "time": 0.001}).encode()


@contextmanager
def serving(api_key: str | None = None) -> Iterator[QdrantServer]:
    server = QdrantServer(api_key)
    try:
        yield server
    finally:
        server.close()
