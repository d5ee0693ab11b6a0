"""Which vendor a request is for."""

from __future__ import annotations

from shared.llm.vendors.spec import VendorSpec
from shared.llm.vendors.table import VENDORS


def vendor_of(path: str, user_agent: str) -> VendorSpec | None:
    """Return the vendor by the base URL's prefix, else by the SDK's path, else by the SDK's name."""
    for vendor in VENDORS.values():
        prefix = "/" + vendor.scripted_path.partition("/")[0]
        if path.startswith(f"{prefix}/") and path.endswith(vendor.path.rpartition("/v1")[2]):
            return vendor
    # An SDK that adds no version to its base URL is used with many other servers, so it is the last to be named.
    candidates = sorted(
        (vendor for vendor in VENDORS.values() if _request_path(vendor) == path),
        key=lambda vendor: (vendor.name not in user_agent.lower(), bool(vendor.version)),
    )
    return candidates[0] if candidates else None


def _request_path(vendor: VendorSpec) -> str:
    """Return the path with its version, whether the SDK or the base URL adds it."""
    return vendor.path if vendor.version else f"/v1{vendor.path}"
