"""Changes within a paragraph, in Stencila's form: ``{++new++}``, ``{--old--}``, ``{~~old~>new~~}``."""

from __future__ import annotations

import re

from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from services.execution.documents.parse.notation import attributes

_BRACES = re.compile(r"\{([^{}\n]{0,500})\}")
_COMMENT = re.compile(r"\{(?:>>|<<)[\w.-]{1,100}\}")
_WITHIN = "within a change"  #: in the environment of a parse: changes do not nest


def change(state: StateInline, silent: bool) -> bool:
    """Return an inline rule of markdown-it."""
    if state.src[state.pos] != "{" or state.env.get(_WITHIN):
        return False
    if comment := _COMMENT.match(state.src, state.pos, state.posMax):
        state.pos = comment.end()
        return True
    sign = state.src[state.pos + 1 : state.pos + 3]
    end = state.src.find(sign + "}", state.pos + 3, state.posMax) if sign in ("++", "--", "~~") else -1
    content = state.src[state.pos + 3 : end]
    if end < 0 or (sign == "~~" and "~>" not in content):
        return False
    braces = _BRACES.match(state.src, end + 3, state.posMax)
    state.pos = braces.end() if braces else end + 3
    if silent:
        return True
    by = (attributes(braces[1]) if braces else {}).get("by", "")
    old, _, new = content.partition("~>") if sign == "~~" else (content, "", content)
    if sign != "++":
        _show(state, "del", old, by)
    if sign != "--":
        _show(state, "ins", new, by)
    return True


def _show(state: StateInline, tag: str, content: str, by: str) -> None:
    opened = state.push(f"{tag}_open", tag, 1)
    if by:
        opened.attrSet("title", f"by {by}")
    inner: list[Token] = []
    state.md.inline.parse(content, state.md, {**state.env, _WITHIN: True}, inner)
    state.tokens.extend(inner)
    state.push(f"{tag}_close", tag, -1)
