"""Whether a reply without code says DONE, and means it."""

from __future__ import annotations

import re

_DECORATION = " \t\r\n*_`.!\"'"
_WORD = re.compile(r"\bDONE\b")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*$", re.MULTILINE)
_SENTENCE = re.compile(r"[.!?\n]+")
#: A sentence with one of these does not say that it is done.
_DOUBT = re.compile(
    r"\b(not|never|yet|until|once|when|if|unless|before|after|nearly|almost|cannot|isn|aren|wasn|won|can|don|doesn|hasn"
    r"|haven|without|no|will|would|should|could|say|reply|answer|respond)\b|n['’]t\b",
    re.IGNORECASE,
)
#: What is added to say that nothing is left to do.
_ASSURANCE = re.compile(
    r"\b(no (further|more|other|additional|changes?|corrections?|fix(es)?|errors?|issues?|problems?)|nothing)\b",
    re.IGNORECASE,
)


def is_done(reply: str) -> bool:
    """``DONE`` alone in any case, or DONE in capitals in a sentence without negation or condition.

    Beside a fenced block of any language nothing but DONE alone counts: what is quoted there is not said.
    """
    told = _FENCE.sub("", reply)
    if only_done(told):
        return True
    if told != reply:
        return False
    reply = _ASSURANCE.sub("", reply)
    saying = [sentence for sentence in _SENTENCE.split(reply) if _WORD.search(sentence)]
    return bool(saying) and not any(_DOUBT.search(sentence) for sentence in saying)


def only_done(text: str) -> bool:
    """Whether nothing but DONE stands there, be it as a comment: no code in any language."""
    return text.strip(_DECORATION).lstrip("#-/ ").lower() == "done"
