"""Whether a reply without code says DONE, and means it."""

from __future__ import annotations

import re

_DECORATION = " \t\r\n*_`.!\"'"
_WORD = re.compile(r"\bDONE\b")
_SENTENCE = re.compile(r"[.!?\n]+")
#: A sentence with one of these does not say that it is done.
_DOUBT = re.compile(
    r"\b(not|never|yet|until|once|when|if|unless|before|after|nearly|almost|cannot|isn|aren|wasn|won|can|don|doesn|hasn"
    r"|haven|without|no|will|would|should|could|say|reply|answer|respond)\b|n['’]t\b",
    re.IGNORECASE,
)


def is_done(reply: str) -> bool:
    """``DONE`` alone in any case, or DONE in capitals in a sentence without negation or condition."""
    if reply.strip(_DECORATION).lower() == "done":
        return True
    saying = [sentence for sentence in _SENTENCE.split(reply) if _WORD.search(sentence)]
    return bool(saying) and not any(_DOUBT.search(sentence) for sentence in saying)
