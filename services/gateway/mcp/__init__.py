"""``/mcp``: the tools of `assay.mcp` over streamable HTTP, on this gateway's own API."""
