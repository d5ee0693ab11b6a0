"""Code pages of older programs: which one a text is in, when windows-1252 makes no words of it."""

from __future__ import annotations

import re

_WESTERN = "ÄÖÜäöüßÀÁÂÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØÙÚÛàáâãåæçèéêëìíîïñòóôõøùúûœŒ"
_USUAL = "ÄÖÜäöüßÉàâçèéêîôûáíóúñ"  #: of German, French and Spanish
_EASTERN = "ÁÄÉÍÓÖÚÜÝáäéíóöúüýąćęłńśźżĄĆĘŁŃŚŹŻčďěňřšťůžČĎĚŇŘŠŤŮŽőűŐŰăâîșțşţĂÂÎŞŢĺľŕôĽđĐß"
_SIGNS = "€£§°²³µ·–—‘’‚“”„…«»±½¼×®©™¿¡ªº\u00a0"
#: The letters that texts in a code page are written with.
_CODE_PAGES = {"mac-roman": _WESTERN, "cp850": _WESTERN, "cp1250": _EASTERN}
#: What no word has: a sign within it, a capital between small letters, a letter that words of the west hardly have.
_ODD = re.compile(
    r"[^\W\d_][^\w\s\x00-\x7f’·\u00ad\u00a0–—][^\W\d_]|[£³²¹¼½¾¤¥¦][^\W\d_]|[a-zß-öø-ÿ][À-ÖØ-ÝŠŒŽŸ][a-z]|[Ÿ¸¨¬\x80-\x9f\ufffd]"
)
_WORD = re.compile(r"[A-Za-z][^\W\d_\x00-\x7f][a-zß-\u017f]|[^\W\d_\x00-\x7f][a-z]{2}")


def likelier(content: bytes, note: str) -> tuple[str, str]:
    """Return the encoding of a text that may be windows-1252, and a note on it; ``note``: the one for windows-1252."""
    text = content.decode("windows-1252", errors="replace")
    if not _ODD.search(text):
        return "windows-1252", note
    fitting = [page for page, letters in _CODE_PAGES.items() if _is_written_with(content, page, letters)]
    fitting = [page for page in fitting if _WORD.search(content.decode(page))]
    usual = [page for page in fitting if _is_written_with(content, page, _USUAL)]
    fitting = usual or fitting
    if len(fitting) == 1:
        return fitting[0], ""
    return "windows-1252", note or "some letters look odd: if they are wrong, state the encoding"


def _is_written_with(content: bytes, page: str, letters: str) -> bool:
    try:
        text = content.decode(page)
    except UnicodeDecodeError:
        return False
    beyond = set(re.sub(r"[\x00-\x7f]", "", text))
    return beyond <= {*letters, *_SIGNS} and bool(beyond & {*letters}) and not _ODD.search(text)
