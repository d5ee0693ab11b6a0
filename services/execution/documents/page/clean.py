"""The content that a page may have: nothing that runs, and nothing that it would fetch from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import nh3

#: A picture within a page has no scripts and loads nothing, also an SVG.
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]*\Z")
_TAGS = nh3.ALLOWED_TAGS | {"section", "aside", "figure", "figcaption", "nav"}
_CLASSES = (
    "pre",
    "table",
    "section",
    "aside",
    "p",
    "code",
    "blockquote",
    "nav",
    "figure",
    "sup",
    "ol",
    "li",
    "a",
    "hr",
)
_ATTRIBUTES = {**nh3.ALLOWED_ATTRIBUTES, "abbr": {"title"}, "details": {"open"}}
for _tag in _CLASSES:
    _ATTRIBUTES[_tag] = _ATTRIBUTES.get(_tag, set()) | ({"class", "type", "start"} if _tag == "ol" else {"class"})
#: What a page links to within itself.
_TARGETS = ("h1", "h2", "h3", "h4", "h5", "h6", "li", "a", "figure", "section")
_WITH_IDS = {**_ATTRIBUTES, **{tag: _ATTRIBUTES.get(tag, set()) | {"id"} for tag in _TARGETS}}


def cleaned(body: str, picture: Callable[[str], str | None] = lambda _address: None, *, ids: bool = False) -> str:
    """Return HTML without what a page must not have.

    ``ids``: the page's own; those of what code has displayed could take the place of another's.
    ``picture``: the address, with its data, of a picture that the HTML names.
    """

    def filtered(tag: str, attribute: str, value: str) -> str | None:
        kept = _filtered(tag, attribute, value)
        return picture(value) if kept is None and (tag, attribute) == ("img", "src") else kept

    return nh3.clean(
        body,
        tags=_TAGS,
        attributes=_WITH_IDS if ids else _ATTRIBUTES,
        attribute_filter=filtered,
        url_schemes={"http", "https", "mailto", "data"},
    )


def _filtered(tag: str, attribute: str, value: str) -> str | None:
    if attribute in ("src", "cite", "longdesc", "background"):
        return value if tag == "img" and attribute == "src" and _PICTURE.match(value) else None
    if attribute == "href":
        return None if value.lower().lstrip().startswith("data:") else value
    return value
