"""Manuals of about 50 pages, each with thirty sentences that answer a question; the rest is about the same parts."""

from __future__ import annotations

import random
from dataclasses import dataclass

QUESTIONS_EACH, PARTS_EACH, PAGES, PARAGRAPHS = 30, 90, 50, 5
_MACHINES = (
    "Veltor coffee roaster", "Harnik band saw", "Oslin dough mixer", "Pereda water softener", "Quillon loom",
    "Ramsey snow blower", "Tavira juice press", "Ulmen kiln", "Wexford label printer", "Zander pond filter",
)  # fmt: skip
_PLACES = ("upper", "lower", "left", "right", "front", "rear", "inner", "outer", "main", "auxiliary")
_KINDS = ("intake", "outlet", "drive", "guide", "brake", "cooling", "control", "pressure", "sensor", "transport")
_THINGS = ("valve", "belt", "shaft", "rail", "filter", "housing", "spring", "coupling", "bearing", "cover")
#: A sentence with its answer, and a question in other words.
_FACTS = (
    ("Grease the {part} with two drops of {stuff} once every {n} weeks.", "How often is the {part} lubricated?"),
    ("A worn {part} is recognized by a {sound} noise in the first {n} seconds.", "What does a worn {part} sound like?"),
    ("Tighten the screws of the {part} to {n} newton meters, never more.", "Which torque do the {part} screws need?"),
    ("The {part} must not become warmer than {n} degrees.", "What is the highest temperature for the {part}?"),
    ("Spare units of the {part} are kept in drawer {n} of the {color} cabinet.", "Where are spares of the {part}?"),
    ("Replace the {part} after {n} operating hours even if it looks new.", "When is the {part} due for replacement?"),
    ("Only {stuff} may be used to clean the {part}; anything else dulls it.", "What can I clean the {part} with?"),
    ("The warranty of the {part} ends {n} months after delivery.", "How long is the {part} under warranty?"),
    ("When the {part} jams, turn the {color} lever and wait {n} minutes.", "What to do if the {part} is stuck?"),
    ("A {color} lamp warns that the {part} was fitted upside down.", "Which light says that the {part} is reversed?"),
)  # fmt: skip
#: About the part that a paragraph is about, and about nothing in particular.
_ABOUT = (
    "Before you work on the {part}, switch the machine off and let it cool down.",
    "The {part} was tested in the factory together with the {other}.",
    "Figure {n} shows the {part} as it is seen from the side of the operator.",
    "The {other} and the {part} are connected by a cable that must not be bent.",
    "Some older machines have no {part}; in these the {other} does the same work.",
    "The label on the {part} must stay readable; order a new one if it fades.",
)
_FILLER = (
    "If you are in doubt, ask a trained technician.",
    "Wear gloves and safety glasses at all times.",
    "Write down every change in the log that came with the machine.",
    "Children and visitors must keep away while the machine runs.",
    "The drawings are in the appendix, in the order of the chapters.",
    "Keep the floor dry, and leave a meter of room on all sides.",
    "A second person should be near in case of an accident.",
    "Do not hurry: most damage is done in the last minutes of a shift.",
    "The pictures may differ from your machine in small things.",
    "Packaging is made of cardboard and can be recycled.",
    "Check that all tools are back in the box before you go on.",
    "This step takes a quarter of an hour for a beginner.",
)
_CHAPTERS = ("Introduction", "Safety", "Transport", "Assembly", "Operation", "Maintenance", "Faults", "Storage")
_STUFF = ("linseed oil", "white spirit", "silicone paste", "soapy water", "citric acid", "graphite powder", "beeswax")
_SOUNDS = ("rattling", "whistling", "grinding", "clicking", "humming")
_COLORS = ("yellow", "blue", "green", "white", "orange", "purple")


@dataclass(frozen=True)
class Marked:
    """A question, and the sentence of a manual that answers it."""

    manual: str
    question: str
    sentence: str


def make(seed: int = 7) -> tuple[list[dict[str, str]], list[Marked]]:
    """Return the manuals as records, and their questions."""
    chance = random.Random(seed)
    parts = [f"{place} {kind} {thing}" for place in _PLACES for kind in _KINDS for thing in _THINGS]
    chance.shuffle(parts)
    records, marked = [], []
    for number, machine in enumerate(_MACHINES):
        own = parts[number * PARTS_EACH : (number + 1) * PARTS_EACH]
        asked = own[:QUESTIONS_EACH]
        facts = {part: _filled(chance, _FACTS[at % len(_FACTS)][0], part, own) for at, part in enumerate(asked)}
        places = dict(zip(chance.sample(range(PAGES * PARAGRAPHS), len(asked)), asked, strict=True))
        records.append({"id": f"m{number}", "name": machine, "text": _text(chance, own, facts, places)})
        for at, part in enumerate(asked):
            marked.append(Marked(f"m{number}", _FACTS[at % len(_FACTS)][1].format(part=part), facts[part]))
    return records, marked


def _text(chance: random.Random, own: list[str], facts: dict[str, str], places: dict[int, str]) -> str:
    """Pages with a form feed between them; a paragraph has nine sentences, and at most one of them is a fact."""
    pages = []
    for page in range(PAGES):
        chapter = f"## {_CHAPTERS[page * len(_CHAPTERS) // PAGES]}\n\n" if page % 3 == 0 else ""
        paragraphs = []
        for paragraph in range(PARAGRAPHS):
            topic = chance.choice(own)
            kinds = [_ABOUT if chance.random() < 0.4 else _FILLER for _ in range(8)]
            sentences = [_filled(chance, chance.choice(kind), topic, own) for kind in kinds]
            part = places.get(page * PARAGRAPHS + paragraph)
            if part is not None:
                sentences.insert(chance.randrange(9), facts[part])
            paragraphs.append(" ".join(sentences))
        pages.append(chapter + "\n\n".join(paragraphs))
    return "\n\f".join(pages)


def _filled(chance: random.Random, template: str, part: str, own: list[str]) -> str:
    return template.format(
        part=part,
        other=chance.choice(own),
        n=chance.randrange(3, 90),
        stuff=chance.choice(_STUFF),
        sound=chance.choice(_SOUNDS),
        color=chance.choice(_COLORS),
    )
