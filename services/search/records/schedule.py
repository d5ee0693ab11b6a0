"""Conference schedules: pentabarf XML, and the JSON of frab and pretalx, as records of sessions or of speakers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from pydantic import JsonValue

from services.search.records.shape import Raw
from shared.errors import UnreadableFile

#: Keys of the lists of talks that a document may have.
_LISTS = ("results", "talks", "submissions")
#: Fields that talks have, and records of other kinds rarely.
_OF_TALKS = frozenset({"persons", "slot", "speakers", "submission_type"})
DOCUMENTS = frozenset({"schedule", "conference", *_LISTS})


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    biography: str = ""


@dataclass(frozen=True)
class ScheduledEvent:
    id: str
    title: str
    text: str
    track: str | None
    room: str | None
    start: datetime | None
    end: datetime | None
    persons: tuple[Person, ...]


def records(events: Iterable[ScheduledEvent], table: str) -> Iterator[Raw]:
    """Return one record per person for the table ``speakers``, one per event for every other."""
    return _speakers(events) if table == "speakers" else (_session(event) for event in events)


def _session(event: ScheduledEvent) -> Raw:
    fields: dict[str, JsonValue] = {
        "track": event.track,
        "room": event.room,
        "start": event.start.isoformat() if event.start else None,
        "end": event.end.isoformat() if event.end else None,
        "speakers": [person.name for person in event.persons] or None,
    }
    present: dict[str, JsonValue] = {name: value for name, value in fields.items() if value is not None}
    return {"id": event.id, "name": event.title[:1000], "text": event.text, "fields": present}


def _speakers(events: Iterable[ScheduledEvent]) -> Iterator[Raw]:
    people: dict[str, Person] = {}
    talks: dict[str, list[ScheduledEvent]] = {}
    for event in events:
        for person in event.persons:
            known = people.setdefault(person.id, person)
            if not known.biography and person.biography:
                people[person.id] = replace(known, biography=person.biography)
            talks.setdefault(person.id, []).append(event)
    for identity, person in people.items():
        titles: list[JsonValue] = list(dict.fromkeys(event.title for event in talks[identity]))
        tracks: list[JsonValue] = list(dict.fromkeys(event.track for event in talks[identity] if event.track))
        lines = [person.biography, *(f"Speaks about: {title}" for title in titles)]
        fields: dict[str, JsonValue] = {"sessions": titles}
        if tracks:
            fields["track"] = tracks
        yield {"id": identity, "name": person.name[:1000], "text": _joined(lines), "fields": fields}


def pentabarf(stream: BinaryIO) -> Iterator[ScheduledEvent]:
    """Yield the events of a ``schedule.xml``, read as it streams."""
    root: str | None = None
    room: str | None = None
    day: str | None = None
    try:
        for action, element in iterparse(stream, events=("start", "end"), forbid_dtd=True):
            root = root or element.tag
            if root != "schedule":
                raise UnreadableFile("the XML is not a schedule: its first element is not <schedule>")
            if action == "start" and element.tag == "room" and element.get("name"):
                room = element.get("name")
            elif action == "start" and element.tag == "day":
                day = element.get("date")
            elif action == "end" and element.tag == "event":
                yield _xml_event(element, room, day)
                element.clear()
    except (ParseError, DefusedXmlException):
        raise UnreadableFile("the file is not a readable XML schedule") from None


def _xml_event(element: Element, room: str | None, day: str | None) -> ScheduledEvent:
    def text(name: str) -> str:
        return "".join(child.itertext()).strip() if (child := element.find(name)) is not None else ""

    persons = [
        _person(person.get("id") or person.get("guid") or person.get("code"), "".join(person.itertext()).strip(), "")
        for person in element.iterfind("persons/person")
    ]
    start = _start(text("date"), day, text("start"))
    return ScheduledEvent(
        id=element.get("id") or element.get("code") or element.get("guid") or "",
        title=text("title"),
        text=_joined([text("subtitle"), text("abstract"), text("description")]),
        track=text("track") or None,
        room=text("room") or room,
        start=start,
        end=_end(start, text("duration")),
        persons=tuple(person for person in persons if person is not None),
    )


def is_schedule(document: JsonValue) -> bool:
    """Return whether a document holds talks; a list of results may be one of anything."""
    if not isinstance(document, dict) or "results" not in document:
        return isinstance(document, dict) and bool(document.keys() & DOCUMENTS)
    listed = document["results"]
    first = listed[0] if isinstance(listed, list) and listed else None
    return not isinstance(first, dict) or bool(first.keys() & _OF_TALKS)


def pretalx(document: JsonValue) -> Iterator[ScheduledEvent]:
    """Return the events of frab's ``schedule.json`` or of pretalx' lists of talks."""
    listed: JsonValue = document
    if isinstance(document, dict):
        inner = document.get("schedule", document)
        if isinstance(inner, dict) and isinstance(inner.get("conference"), dict):
            return _days(inner["conference"])
        listed = next((document[key] for key in _LISTS if key in document), None)
    if not isinstance(listed, list):
        raise UnreadableFile("the JSON is not a schedule: it has neither schedule.conference.days nor a list of talks")
    return (_json_event(item, None, None) for item in listed if isinstance(item, dict))


def _days(conference: JsonValue) -> Iterator[ScheduledEvent]:
    days = conference.get("days") if isinstance(conference, dict) else None
    if not isinstance(days, list):
        raise UnreadableFile("the JSON schedule has no days")
    for day in days:
        rooms = day.get("rooms") if isinstance(day, dict) else None
        for room, events in rooms.items() if isinstance(rooms, dict) else ():
            for event in events if isinstance(events, list) else ():
                if isinstance(event, dict):
                    yield _json_event(event, room, _text(day.get("date")) if isinstance(day, dict) else None)


def _json_event(event: dict[str, JsonValue], room: str | None, day: str | None) -> ScheduledEvent:
    slot = event.get("slot")
    slot = slot if isinstance(slot, dict) else {}
    people = event.get("persons") or event.get("speakers") or []
    persons = [_json_person(person) for person in people] if isinstance(people, list) else []
    given_start = _text(event.get("date")) or _text(slot.get("start"))
    clock = _text(event.get("start"))
    start = _start(given_start or (clock if len(clock) > 5 else ""), day, clock)
    end = _moment(_text(event.get("end")) or _text(slot.get("end")))
    return ScheduledEvent(
        id=_text(event.get("id")) or _text(event.get("code")) or _text(event.get("guid")),
        title=_text(event.get("title")),
        text=_joined([_text(event.get(key)) for key in ("subtitle", "abstract", "description")]),
        track=_text(event.get("track")) or None,
        room=_text(event.get("room")) or _text(slot.get("room")) or room,
        start=start,
        end=end or _end(start, _text(event.get("duration"))),
        persons=tuple(person for person in persons if person is not None),
    )


def _json_person(person: JsonValue) -> Person | None:
    if isinstance(person, str):
        return _person(None, person, "")
    if not isinstance(person, dict):
        return None
    identity = _text(person.get("id")) or _text(person.get("code")) or _text(person.get("guid"))
    name = next((_text(person.get(key)) for key in ("public_name", "name", "full_public_name") if person.get(key)), "")
    return _person(identity, name, _text(person.get("biography")) or _text(person.get("abstract")))


def _person(identity: str | None, name: str, biography: str) -> Person | None:
    return Person(identity or name, name, biography) if identity or name else None


def _text(value: JsonValue) -> str:
    """Return a value as text; of an object with names in several languages, the English or the first one."""
    if isinstance(value, dict):
        chosen = value.get("en") or value.get("name") or next(iter(value.values()), "")
        return _text(chosen)
    if value is None or isinstance(value, (list, bool)):
        return ""
    return str(value).strip()


def _start(date: str, day: str | None, clock: str) -> datetime | None:
    moment = _moment(date)
    if moment is None and day and re.fullmatch(r"\d{1,2}:\d{2}", clock):
        return _moment(f"{day[:10]}T{clock:0>5}")
    return moment


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _end(start: datetime | None, duration: str) -> datetime | None:
    """Durations are hours and minutes, or minutes alone."""
    match = re.fullmatch(r"(?:(\d{1,3}):)?(\d{1,4})(?::\d{2})?", duration)
    if start is None or match is None:
        return None
    return start + timedelta(hours=int(match[1] or 0), minutes=int(match[2]))


def _joined(parts: Iterable[str]) -> str:
    """Return the parts without markup; empty and repeated ones are left out."""
    stripped = (re.sub(r"<[^>]{1,200}>", " ", part).strip() for part in parts)
    return "\n\n".join(dict.fromkeys(part for part in stripped if part))
