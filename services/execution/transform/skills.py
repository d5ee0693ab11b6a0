"""Guidance for particular kinds of task: folders with a header that enter the prompt when they match."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Skill:
    name: str
    description: str
    text: str
