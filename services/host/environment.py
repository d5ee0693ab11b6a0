"""The environment of each child process: only the variables that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import services
from migrations.roles import VARIABLE
from shared.contracts.models import KEY_PREFIX
from shared.llm.vendors.table import VENDORS

_ROOT = Path(services.__file__).parent.parent

#: Every process gets these: paths, locale, time zone, folders, proxies and certificates.
_PLAIN = frozenset(
    {
        "PATH", "HOME", "USER", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "LD_LIBRARY_PATH",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "no_proxy", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME",
    }
)  # fmt: skip
_PREFIXES = ("ASSAY_", "OTEL_")
#: Where blobs are kept may need credentials.
_STORES = ("AWS_", "S3_", "QDRANT_")
#: What only a person or the command uses, what only some processes get, and a port that
#: processes on one machine cannot share.
_NEVER = frozenset({"ASSAY_API_KEY", "ASSAY_URL", "ASSAY_METRICS_PORT", "ASSAY_BROKER_URL"})


@dataclass(frozen=True)
class StoreUrls:
    """The servers and folders of an installation."""

    database_url: str
    redis_url: str
    blob_url: str
    qdrant_url: str | None


def of_child(
    ours: Mapping[str, str], stores: StoreUrls | None, *, asks_models: bool, more: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of a process of the platform."""
    prefixes = (*_PREFIXES, *_STORES, *(vendor_prefixes() if asks_models else ()))
    env = {
        name: value
        for name, value in ours.items()
        if (name in _PLAIN or name.startswith(prefixes)) and name not in _NEVER and not name.startswith(VARIABLE)
    }
    env |= {"PYTHONPATH": python_path(ours), "PYTHONUNBUFFERED": "1"}
    if stores is not None:
        env |= {"DATABASE_URL": stores.database_url, "REDIS_URL": stores.redis_url, "BLOB_URL": stores.blob_url}
        if stores.qdrant_url is not None:
            env["QDRANT_URL"] = stores.qdrant_url
    return {**env, **more}


def vendor_prefixes() -> tuple[str, ...]:
    """Return the prefixes of the vendors' own variables (keys, base URLs, others of their SDKs), and of endpoints'
    keys.
    """
    return (*(vendor.variables.prefix for vendor in VENDORS.values()), KEY_PREFIX)


def python_path(ours: Mapping[str, str]) -> str:
    """Return the path where children find our packages, installed or not."""
    return ":".join(filter(None, [str(_ROOT), ours.get("PYTHONPATH")]))
