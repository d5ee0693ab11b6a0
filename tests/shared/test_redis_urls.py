"""What each form of REDIS_URL means to redis-py and to Celery."""

from __future__ import annotations

import pytest

from shared.redis_urls import Broker, Sentinels, broker, client, sentinels


def test_sentinels() -> None:
    url = "redis+sentinel://user:p%40ss@a:1,b/main/2?sentinel_password=s"
    login = {"username": "user", "password": "p@ss"}
    assert sentinels(url) == Sentinels((("a", 1), ("b", 26379)), "main", 2, login, {"password": "s"})
    assert broker(url) == Broker(
        "sentinel://user:p%40ss@a:1/2;sentinel://user:p%40ss@b:26379/2",
        {},
        {"master_name": "main", "sentinel_kwargs": {"password": "s"}},
    )
    secure = sentinels("rediss+sentinel://[::1]:7/main?ssl_ca_certs=/ca.pem")
    assert secure is not None
    assert secure.addresses == (("::1", 7),)
    assert secure.tls == {
        "ssl": True,
        "ssl_cert_reqs": "required",
        "ssl_ca_certs": "/ca.pem",
        "ssl_check_hostname": True,
    }


@pytest.mark.parametrize("url", ["redis+sentinel://a:1", "redis+sentinel://a:x/main", "rediss+sentinel://a:1/main/db"])
def test_what_is_no_url_of_sentinels(url: str) -> None:
    with pytest.raises(ValueError, match=r"is followed by|is not a port"):
        sentinels(url)


def test_certificates_are_verified_unless_the_url_says_otherwise() -> None:
    assert broker("rediss://u:p@h:1/0?ssl_ca_certs=/ca.pem") == Broker(
        "rediss://u:p@h:1/0",
        {"broker_use_ssl": {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca.pem", "ssl_check_hostname": True}},
    )
    unchecked = broker("rediss://h?ssl_cert_reqs=none&ssl_check_hostname=false").settings["broker_use_ssl"]
    assert unchecked == {"ssl_cert_reqs": "none", "ssl_check_hostname": False}


def test_other_urls_are_redis_pys_own() -> None:
    assert broker("unix:///run/r.sock?db=3").url == "redis+socket:///run/r.sock?virtual_host=3"
    assert broker("redis://host:6379/1") == Broker("redis://host:6379/1")
    assert client("redis://host:6379/1").connection_pool.connection_kwargs["db"] == 1
