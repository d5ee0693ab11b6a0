"""The table of vendors. Its order is the order in which they are listed."""

from __future__ import annotations

from shared.llm.vendors import anthropic, cerebras, groq, openai
from shared.llm.vendors.spec import VendorSpec
from shared.specs import SpecTable

VENDORS: SpecTable[VendorSpec] = SpecTable("vendor", [groq.SPEC, cerebras.SPEC, anthropic.SPEC, openai.SPEC])


def key_variables() -> str:
    """The variables of all keys as a person would list them: ``GROQ_API_KEY, ... or OPENAI_API_KEY``."""
    *others, last = (vendor.variables.api_key.name for vendor in VENDORS.values())
    return f"{', '.join(others)} or {last}" if others else last
