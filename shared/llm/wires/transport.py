"""HTTP connections that obey the watch, for two generations of one HTTP client: ``httpx`` and ``httpx2``.

Both accept a custom transport above their connection pools, and a custom network backend below.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.request import getproxies, proxy_bypass

from shared.llm.call_clock import POLL_SECONDS, current_watch
from shared.llm.wires.endpoint import Endpoint

#: The defaults of ``httpx``.
_LIMITS = {"max_connections": 100, "max_keepalive_connections": 20, "keepalive_expiry": 5.0}


def watched_client(http: Any, core: Any, endpoint: Endpoint) -> Any:
    """Return a client of ``http`` (``httpx``, ``httpx2``) on connections of ``core`` (``httpcore``, ``httpcore2``)."""
    return http.Client(transport=WatchedTransport(http, core), timeout=endpoint.last_resort)


def tls(http: Any) -> Any:
    """Return the TLS context of all clients of ``http``; reading the certificates takes longer than a call."""
    return _tls(http, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache
def _tls(http: Any, file: str | None, folder: str | None) -> Any:
    return http.create_ssl_context()


class WatchedTransport:
    """A ``BaseTransport``: one pool for direct connections, and one for each proxy of the environment.

    Exceptions are those of ``core``, which have the same names as those of ``http``.
    """

    def __init__(self, http: Any, core: Any) -> None:
        self._http = http
        self._core = core
        self._proxies = {scheme: url for scheme, url in getproxies().items() if scheme in ("http", "https", "all")}
        shared = {
            "ssl_context": tls(http),
            "network_backend": Backend(core),
            **_LIMITS,
        }
        self._direct = core.ConnectionPool(**shared)
        self._pools = {proxy: _proxy_pool(core, proxy, shared) for proxy in set(self._proxies.values())}
        #: ``http`` requires that a response's body is of its own class.
        self._body = type("Body", (_Body, http.SyncByteStream), {})

    def handle_request(self, request: Any) -> Any:
        url = request.url
        target = self._core.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        response = self._pool(url.scheme, url.host).handle_request(
            self._core.Request(
                request.method,
                target,
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        if (watch := current_watch()) is not None:
            watch.headers = self._http.Headers(response.headers)
        return self._http.Response(
            response.status,
            headers=response.headers,
            stream=self._body(response.stream),
            extensions=response.extensions,
        )

    def close(self) -> None:
        for pool in (self._direct, *self._pools.values()):
            pool.close()

    def _pool(self, scheme: str, host: str) -> Any:
        proxy = self._proxies.get(scheme) or self._proxies.get("all")
        if proxy is None or proxy_bypass(host):
            return self._direct
        return self._pools[proxy]


def _proxy_pool(core: Any, proxy: str, options: dict[str, Any]) -> Any:
    url = proxy if "://" in proxy else f"http://{proxy}"
    return core.SOCKSProxy(url, **options) if url.startswith("socks5") else core.HTTPProxy(url, **options)


class _Body:
    """The bytes of a response."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()


class Backend:
    """A network backend whose streams check the watch before each further wait."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._inner = core.SyncBackend()

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **options: Any) -> Stream:
        watch = current_watch()
        if watch is not None:
            watch.check()
            watch.connected = True
            watch.stage = "tcp"
            timeout = watch.at_most(watch.timeouts.connect)
        return Stream(self._core, self._inner.connect_tcp(host, port, timeout=timeout, **options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class Stream:
    """A connection."""

    def __init__(self, core: Any, inner: Any) -> None:
        self._core = core
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        watch = current_watch()
        if watch is None:
            data: bytes = self._inner.read(max_bytes, timeout=timeout)
            return data
        while True:
            watch.check()
            try:
                data = self._inner.read(max_bytes, timeout=watch.at_most(POLL_SECONDS))
            except self._core.ReadTimeout:
                continue
            watch.receive(len(data))
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        watch = current_watch()
        if watch is not None:
            watch.check()
            timeout = watch.at_most(watch.timeouts.idle)
        self._inner.write(buffer, timeout=timeout)

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> Stream:
        watch = current_watch()
        if watch is not None:
            watch.stage = "tls"
            timeout = watch.at_most(watch.timeouts.connect)
        secured = Stream(self._core, self._inner.start_tls(ssl_context, server_hostname, timeout))
        if watch is not None:
            watch.stage = "open"
        return secured

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
