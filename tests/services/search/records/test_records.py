"""Records out of files of every format."""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from services.search.records.files import RecordFile, read, sniff
from services.search.records.notes import Notes
from services.search.records.shape import Refused, record
from shared.contracts.search import Record, RecordMapping, TableSpec
from shared.errors import UnreadableFile

SPEC = TableSpec.model_validate(
    {
        "facets": {"topic": 1.0},
        "fields": {"track": "keyword", "seats": "integer", "price": "float", "live": "bool", "start": "datetime"},
    }
)
PENTABARF = """<?xml version="1.0" encoding="utf-8"?>
<schedule><conference><title>Ours</title></conference>
<day index="1" date="2026-05-01"><room name="Main Hall">
 <event id="101" guid="g1"><date>2026-05-01T10:00:00+02:00</date><start>10:00</start><duration>00:45</duration>
  <title>Opening &amp; welcome</title><subtitle>Hello</subtitle><track>General</track>
  <abstract>&lt;p&gt;We begin.&lt;/p&gt;</abstract><description>In detail.</description>
  <persons><person id="7">Ada L.</person><person id="8">Bob</person></persons></event>
 <event id="102"><start>11:30</start><duration>1:30</duration><title>Databases</title>
  <persons><person id="7">Ada L.</person></persons></event>
</room></day></schedule>"""
FRAB = {
    "schedule": {
        "conference": {
            "days": [
                {
                    "date": "2026-05-01",
                    "rooms": {
                        "Main Hall": [
                            {
                                "id": 101,
                                "date": "2026-05-01T10:00:00+02:00",
                                "start": "10:00",
                                "duration": "00:45",
                                "title": "Opening",
                                "track": {"en": "General", "de": "Allgemein"},
                                "abstract": "We begin.",
                                "persons": [{"code": "ADA", "public_name": "Ada L.", "biography": "Wrote programs."}],
                            }
                        ]
                    },
                }
            ]
        }
    }
}
PRETALX = {
    "count": 1,
    "results": [
        {
            "code": "XYZ9",
            "title": "Opening",
            "abstract": "We begin.",
            "speakers": [{"code": "ADA", "name": "Ada L.", "biography": None}],
            "track": {"en": "General"},
            "slot": {
                "room": {"en": "Main Hall"},
                "start": "2026-05-01T10:00:00+02:00",
                "end": "2026-05-01T10:45:00+02:00",
            },
        }
    ],
}


def records(content: bytes, format: str = "auto", table: str = "sessions", **more: Any) -> list[Any]:
    with TemporaryFile() as stream:
        stream.write(content)
        stream.flush()
        return list(read(RecordFile(stream, table, SPEC, format, **more)))


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b'{"id": 1}\n{"id": 2}\n', "jsonl"),
        (b'\xef\xbb\xbf{"id": 1}', "jsonl"),
        (b'  [{"id": 1}]', "json"),
        (b"id,name\n1,x\n", "csv"),
        (b"PAR1....", "parquet"),
        (PENTABARF.encode(), "pentabarf"),
        (json.dumps(FRAB).encode(), "pretalx"),
        (json.dumps(FRAB, indent=1).encode(), "pretalx"),
        (json.dumps(PRETALX).encode(), "pretalx"),
        (b'{"id": 1, "text": "' + b"x" * 100_000 + b'"}\n{"id": 2}', "jsonl"),
        (b'{"id": 1, "results": []}\n', "jsonl"),
        (b'{"id": 1, oops}\n{"id": 2}\n', "jsonl"),
        (b'{"schedule": "' + b"x" * 100_000 + b'"}', "pretalx"),
    ],
)
def test_the_format_is_seen_from_the_first_bytes(content: bytes, format: str) -> None:
    assert sniff(io.BytesIO(content)) == format


def test_csv_columns_are_matched_by_name_and_typed_as_declared() -> None:
    text = (
        "ID;Title;abstract;topic;track;seats;price;live;extra\n"
        '1;"A; B";"two\nlines";queues;web;12;1.5;yes;more\n'
        "2;C;;;;;;;\n"
    )
    first, second = records(text.encode())
    assert first == {
        "id": "1",
        "name": "A; B",
        "text": "two\nlines",
        "facets": {"topic": "queues"},
        "fields": {"track": "web", "seats": 12, "price": 1.5, "live": True, "extra": "more"},
    }
    assert second == {"id": "2", "name": "C", "text": "", "facets": {}, "fields": {}}


def test_csv_rows_with_other_columns_are_refused_one_by_one() -> None:
    first, second, third = records(b"id,name\n1,a\n2,b,c\n3,d\n")
    assert isinstance(second, Refused)
    assert (first["id"], second.code, third["id"]) == ("1", "wrong_columns", "3")


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"name,text\na,b\nc,d\n", "csv"),
        (b'{"name": "a", "text": "b"}\n{"name": "c", "text": "d"}\n', "jsonl"),
        (b'[{"title": "a", "abstract": "b"}, {"title": "c", "abstract": "d"}]', "json"),
    ],
)
def test_a_file_without_ids_gets_them_from_its_content_and_says_so(content: bytes, format: str) -> None:
    notes = Notes()
    first, second = records(content, format, notes=notes)
    assert (first["name"], first["text"], second["name"]) == ("a", "b", "c")
    assert first["id"] != second["id"]
    assert records(content, format)[1]["id"] == second["id"]
    assert any("no column id: ids are made from the content" in note for note in notes.texts())


def test_a_damaged_byte_of_a_table_is_replaced_and_noted_with_its_line() -> None:
    notes = Notes()
    items = records("id,name\n1,Ä\n2,Ö\n".encode() + b"3,\xe4x\n", "csv", notes=notes)
    assert [item["name"] for item in items] == ["Ä", "Ö", "\ufffdx"]
    assert notes.texts() == ["not UTF-8, read as \ufffd: 1 byte in line 4"]
    notes = Notes()
    assert records(b"id,name\n1,\xe4\n2,\x81\n", "csv", notes=notes)[0]["name"] == "ä"
    assert any("not defined in windows-1252" in note for note in notes.texts())


def test_quotes_that_are_written_with_a_backslash_are_kept() -> None:
    assert records(b'id,name\n1,"x \\"y\\" z"\n', "csv")[0]["name"] == 'x "y" z'


def test_a_json_list_is_read_under_auto_and_under_jsonl() -> None:
    content = b'[{"id": "a", "name": "x", "track": "web"}, 5]'
    for format in ("auto", "jsonl"):
        first, second = records(content, format)
        assert first == {"id": "a", "name": "x", "facets": {}, "fields": {"track": "web"}}
        assert isinstance(second, Refused)


WRAPPED = [
    {"id": "a", "name": "x", "facets": {}, "fields": {"price": 3}},
    {"id": "b", "name": "y", "facets": {}, "fields": {}},
]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["", "a.json", "a.jsonl"])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("lists", ["data", "items", "results", "response.docs"])
def test_records_within_an_object_are_read_in_one_line_or_many(
    lists: str, indent: int | None, name: str, encoding: str
) -> None:
    document: Any = [{"id": "a", "name": "x", "price": 3}, {"id": "b", "name": "y"}]
    for level, part in enumerate(reversed(lists.split("."))):
        document = {part: document, **({"count": 2} if level == 0 else {})}
    notes = Notes()
    assert records(json.dumps(document, indent=indent).encode(encoding), name=name, notes=notes) == WRAPPED
    if name.endswith("l"):
        assert records(json.dumps(document, indent=indent).encode(encoding), "jsonl") == WRAPPED
    left_out = ".".join([*lists.split(".")[:-1], "count"])
    assert f"records of '{lists}' (not read: '{left_out}')" in notes.texts()


def test_a_page_of_records_in_each_line_is_read_as_the_records() -> None:
    pages = [{"results": [{"id": "a", "name": "x", "price": 3}], "next": 2}, {"results": [{"id": "b", "name": "y"}, 5]}]
    *read_records, refused = records("\n".join(map(json.dumps, pages)).encode())
    assert read_records == WRAPPED
    assert isinstance(refused, Refused)


@pytest.mark.parametrize("indent", [None, 1])
def test_one_object_is_one_record_in_one_line_or_many(indent: int | None) -> None:
    row = {"id": "a", "name": "x", "tags": [{"k": 1}], "items": [{"k": 2}]}
    for name in ("", "a.json", "a.jsonl"):
        (record,) = records(json.dumps(row, indent=indent).encode(), name=name)
        assert record["id"] == "a"
        assert record["fields"] == {"tags": [{"k": 1}], "items": [{"k": 2}]}


def test_columns_of_a_json_file_are_records() -> None:
    content = json.dumps({"id": ["a", "b"], "name": ["x", "y"]}).encode()
    assert [(each["id"], each["name"]) for each in records(content, name="a.json")] == [("a", "x"), ("b", "y")]


@pytest.mark.parametrize("lines", [True, False])
def test_numbers_that_json_lacks_are_missing_and_noted(lines: bool) -> None:
    rows = ['{"id": "a", "price": NaN}', '{"id": "b", "price": -Infinity, "more": [1, NaN]}', '{"id": "c", "price": 2}']
    text = "\n".join(rows) if lines else f"[{', '.join(rows)}]"
    notes = Notes()
    first, second, third = records(text.encode(), notes=notes)
    assert (first["fields"], third["fields"]) == ({}, {"price": 2})
    assert second["fields"] == {"more": [1, None]}
    assert notes.texts()[-2:] == ["price: 2 values such as NaN read as null", "more: NaN read as null"]


def test_a_number_with_more_digits_than_a_float_keeps_its_digits() -> None:
    (record,) = records(b'{"id": 1, "amount": 1234567890123456.78, "share": 0.12345678901234567890}')
    assert record["fields"] == {"amount": "1234567890123456.78", "share": 0.12345678901234568}


def test_a_field_that_is_given_twice_is_refused() -> None:
    first, second = records(b'{"id": 1, "a": 1, "a": 2}\n{"id": 2}\n')
    assert isinstance(first, Refused)
    assert "line 1: an object has the field 'a' twice" in first.message
    assert second["id"] == 2
    with pytest.raises(UnreadableFile, match="the field 'a' twice"):
        records(b'[{"id": 1, "a": 1, "a": 2}]')


def test_records_of_the_contracts_shape_pass_through() -> None:
    whole = {"id": "a", "name": "x", "facets": {"topic": "t"}, "fields": {"track": "web"}}
    assert records(json.dumps(whole).encode()) == [whole]


def test_a_row_may_be_of_the_contracts_shape_in_parts() -> None:
    row = {"id": "a", "title": "x", "description": "d", "seats": 5, "fields": {"track": "web"}}
    assert records(json.dumps(row).encode()) == [
        {"id": "a", "name": "x", "text": "d", "facets": {}, "fields": {"track": "web", "seats": 5}}
    ]


def test_what_is_null_was_not_said() -> None:
    found = record({"id": "a", "name": "x", "text": None, "facets": {"topic": None}, "fields": None}, SPEC)
    assert isinstance(found, Record)
    assert (found.text, found.facets, found.fields) == ("", {}, {})


@pytest.mark.parametrize("spoilt", [{"name": "a\0b"}, {"text": "half \ud800"}, {"fields": {"deep": [{"k": "\0"}]}}])
def test_text_that_no_database_takes_is_refused(spoilt: dict[str, Any]) -> None:
    refused = record({"id": "a", "name": "x", **spoilt}, SPEC)
    assert isinstance(refused, Refused)
    assert refused.code == "invalid_record"


def test_parquet_keeps_types_and_writes_times_as_text() -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "name": ["a", "b"],
            "seats": [5, None],
            "start": [dt.datetime(2026, 5, 1, tzinfo=dt.UTC), None],
            "tags": [["x", "y"], []],
        }
    )
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    first, second = records(buffer.getvalue())
    assert first["fields"] == {"seats": 5, "start": "2026-05-01T00:00:00+00:00", "tags": ["x", "y"]}
    assert second["fields"] == {"tags": []}


def test_a_pentabarf_schedule_gives_sessions() -> None:
    first, second = records(PENTABARF.encode())
    assert first == {
        "id": "101",
        "name": "Opening & welcome",
        "text": "Hello\n\nWe begin.\n\nIn detail.",
        "fields": {
            "track": "General",
            "room": "Main Hall",
            "start": "2026-05-01T10:00:00+02:00",
            "end": "2026-05-01T10:45:00+02:00",
            "speakers": ["Ada L.", "Bob"],
        },
    }
    assert second["fields"]["start"] == "2026-05-01T11:30:00+00:00"
    assert second["fields"]["end"] == "2026-05-01T13:00:00+00:00"


def test_a_schedule_gives_one_speaker_per_person() -> None:
    ada, bob = records(PENTABARF.encode(), table="speakers")
    assert (ada["id"], ada["name"], bob["name"]) == ("7", "Ada L.", "Bob")
    assert ada["fields"] == {"sessions": ["Opening & welcome", "Databases"], "track": ["General"]}
    assert "Databases" in ada["text"]


def test_frab_json_gives_sessions_and_speakers() -> None:
    [session] = records(json.dumps(FRAB).encode())
    assert session["id"] == "101"
    assert session["fields"]["track"] == "General"
    assert session["fields"]["end"] == "2026-05-01T10:45:00+02:00"
    [speaker] = records(json.dumps(FRAB).encode(), table="speakers")
    assert (speaker["id"], speaker["name"]) == ("ADA", "Ada L.")
    assert speaker["text"].startswith("Wrote programs.")


def test_pretalx_lists_of_talks_give_sessions() -> None:
    [session] = records(json.dumps(PRETALX).encode())
    assert session == {
        "id": "XYZ9",
        "name": "Opening",
        "text": "We begin.",
        "fields": {
            "track": "General",
            "room": "Main Hall",
            "start": "2026-05-01T10:00:00+02:00",
            "end": "2026-05-01T10:45:00+02:00",
            "speakers": ["Ada L."],
        },
    }


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"not xml", "pentabarf"),
        (b"<schedule><unclosed>", "pentabarf"),
        (b"<html><body>hello</body></html>", "pentabarf"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><schedule>&a;</schedule>', "pentabarf"),
        (b"[]x", "pretalx"),
        (b'{"schedule": 5}', "pretalx"),
        (b"5", "pretalx"),
        (b"\xff\xfe\x00", "csv"),
        (b"", "csv"),
        (b"PAR1", "parquet"),
        (b"[" * 100_000, "jsonl"),
    ],
)
def test_what_is_not_of_its_format_is_unreadable(content: bytes, format: str) -> None:
    with pytest.raises(UnreadableFile):
        records(content, format)


def mapped(content: bytes, format: str, **mapping: Any) -> list[Any]:
    return records(content, format, mapping=RecordMapping.model_validate(mapping))


def test_a_mapping_says_where_a_records_parts_come_from() -> None:
    content = b"No;Headline;Intro;Body;track\n7;Hi;a;b;web\n8;Ho;;c;data\n"
    found = mapped(content, "csv", id="No", name="Headline", text=["Intro", "Body"])
    assert found[0] == {"id": "7", "name": "Hi", "text": "a\n\nb", "facets": {}, "fields": {"track": "web"}}
    assert found[1]["text"] == "c"
    with pytest.raises(UnreadableFile, match="no column named Nope; it has No, Headline"):
        mapped(content, "csv", id="No", name="Nope")


@pytest.mark.parametrize(
    ("format", "content"), [("csv", b"title,n\na,1\nb,2\n"), ("jsonl", b'{"title":"a"}\n{"title":"b"}')]
)
def test_ids_made_from_rows_are_the_same_again(format: str, content: bytes) -> None:
    first, second = mapped(content, format, name="title")
    assert first["id"] != second["id"]
    assert mapped(content, format, name="title")[0]["id"] == first["id"]
    assert isinstance(record(first, SPEC), Record)


def taken(content: str | bytes, name: str = "auto") -> list[Record | Refused]:
    items = records(content.encode() if isinstance(content, str) else content, name)
    return [item if isinstance(item, Refused) else record(item, SPEC) for item in items]


@pytest.mark.parametrize(
    ("content", "fields"),
    [
        ("id;name;price\n1;Pumpe;19,99\n2;Rad;1.299,00\n", [{"price": 19.99}, {"price": 1299.0}]),
        ("id,name,seats\n1,a,1.0\n2,b,4433.0\n", [{"seats": 1}, {"seats": 4433}]),
        (
            '{"id": "1", "name": "a", "track": 4433}\n{"id": "2", "name": "b", "track": 4433.0}\n',
            [{"track": "4433"}] * 2,
        ),
        ('{"ID": "1", "Name": "a", "Price": "5"}\n', [{"price": 5.0}]),
        ('{"_id": "1", "name": "a", "seats": "1.0"}\n', [{"seats": 1}]),
        ('{"id": 1, "name": "a", "live": "yes"}\n', [{"live": True}]),
    ],
)
def test_dirty_values_whose_meaning_is_certain_are_taken(content: str, fields: list[dict[str, Any]]) -> None:
    records = taken(content)
    assert [item.fields for item in records if isinstance(item, Record)] == fields


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "utf-8"])
def test_a_table_is_read_in_the_encodings_that_people_have(encoding: str) -> None:
    [item] = taken("id,name\n1,Café\n".encode(encoding))
    assert isinstance(item, Record)
    assert item.name == "Café"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize(
    "content",
    [
        '[{"id": "1", "name": "Café"}]',
        '[\n  {\n    "id": "1",\n    "name": "Café"\n  }\n]\n',
        '{"id": "1", "name": "Café"}\n',
    ],
)
def test_json_is_read_in_the_encodings_that_people_have(content: str, encoding: str) -> None:
    [item] = taken(content.encode(encoding))
    assert isinstance(item, Record)
    assert (item.id, item.name) == ("1", "Café")


def test_a_damaged_line_among_lines_of_utf8_is_kept_and_named() -> None:
    notes = Notes()
    content = '{"id": "1", "name": "Größe äöü"}\n'.encode() + b'{"id": "2", "name": "Caf\xe9"}\n'
    assert [item["name"] for item in records(content, "auto", notes=notes) if not isinstance(item, Refused)] == [
        "Größe äöü",
        "Caf\ufffd",
    ]
    assert notes.texts() == ["not UTF-8, read as \ufffd: 1 byte in line 2"]


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ('[{"id": "1", "name": "東京の記録"}]', "shift_jis"),
        ('{"id": "1", "name": "שלום עולם"}\n', "cp1255"),
        ("id;name\n1;שלום עולם\n", "cp1255"),
    ],
)
def test_text_of_an_uncertain_script_asks_for_its_encoding(content: str, encoding: str) -> None:
    with pytest.raises(UnreadableFile, match="neither UTF-8 nor windows-1252: state its encoding"):
        taken(content.encode(encoding))


@pytest.mark.parametrize(
    "content", ["id,name\n1,Café\n", '{"id": "1", "name": "Café"}\n', '[{"id": 1, "name": "Café"}]']
)
def test_one_file_packed_with_gzip_is_that_file(content: str) -> None:
    [item] = taken(gzip.compress(content.encode()))
    assert isinstance(item, Record)
    assert (item.id, item.name) == ("1", "Café")


def test_gzip_that_is_cut_or_packed_twice_is_refused() -> None:
    packed = gzip.compress(b"id,name\n1,a\n" * 100)
    with pytest.raises(UnreadableFile, match="damaged"):
        taken(packed[:-20])
    with pytest.raises(UnreadableFile, match="archives in archives"):
        taken(gzip.compress(packed))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            'id\tname\ttext\n10\ta\t"Paper stuck says\n11\tb\tc\n',
            "line 2: a quoted cell that begins here is not closed",
        ),
        ('id,name\n1,a\n2,"b\n3,c\n', "line 3: a quoted cell"),
    ],
)
def test_a_row_is_a_row_or_the_file_is_refused_with_the_line(content: str | bytes, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        taken(content, "csv")
