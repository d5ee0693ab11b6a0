"""Takes what a model thinks aloud before its answer out of the text: ``<think>`` blocks, and raw analysis channels."""

from __future__ import annotations

import re

_NAMES = "think|thought|thoughts|reasoning|seed:think"
_OPENED = re.compile(rf"\A\s*<({_NAMES})>", re.I)
#: The chat template opened the block, so that the model only closes it.
_ONLY_CLOSED = re.compile(rf"\A((?:(?!<(?:{_NAMES})>).)*?)(?:^|\n)\s*</({_NAMES})>[ \t]*(?=\n|\Z)", re.I | re.S)
_ANALYSIS = re.compile(r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>(.*?)(?:<\|end\|>|\Z)", re.S)
_FINAL = re.compile(r"\A\s*(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>")


def split_thoughts(text: str) -> tuple[str, str]:
    """Return the reasoning and the answer; unterminated reasoning leaves no answer."""
    thoughts: list[str] = []
    while (opened := _OPENED.search(text)) is not None:
        end = re.compile(rf"</{re.escape(opened[1])}>", re.I).search(text, opened.end())
        thoughts.append(text[opened.end() : end.start() if end else len(text)])
        text = text[end.end() :].lstrip() if end else ""
    while (analysis := _ANALYSIS.search(text)) is not None:
        thoughts.append(analysis[1])
        text = text[analysis.end() :]
    text = _FINAL.sub("", text) if thoughts else text
    if not thoughts and (closed := _ONLY_CLOSED.search(text)) is not None:
        thoughts.append(closed[1])
        text = text[closed.end() :].lstrip()
    return "\n".join(thought.strip() for thought in thoughts if thought.strip()), text
