"""Files with several tables or several columns in one, and names over several rows that are stated again."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from shared.reading.read import TableRead, read
from shared.reading.stated import NOTHING_STATED, Stated

GA4 = (
    "# ---\n# Traffic\n\nSource,Users\ngoogle,100\n(direct),50\n\n"
    "# ---\n# Events\n\nEvent,Count,Users\nclick,20,10\nview,30,20\n"
)
EUROSTAT = "freq,geo\\TIME_PERIOD\t2022 \t2023 \nA,DE\t1.5 \t2.5 b\nA,FR\t: z\t3 \n"
NAMES = {
    "two.csv": ",Sales,,Cost,\nRegion,2023,2024,2023,2024\nN,1,2,3,4\nS,1,2,3,4\n",
    "banners.csv": ",A,,B,\nRegion,Q1,Q2,Q1,Q2\nN,1,2,3,4\nS,1,2,3,4\n",
    "units.csv": "t;p\n°C;hPa\n1,5;1000\n2,5;1001\n",
    "toa5.dat": '"TOA5","S"\n"TIMESTAMP","T"\n"TS","C"\n"","Avg"\n"2024-01-31 10:00:00",1.5\n'
    '"2024-01-31 10:01:00",2.5\n',
    "eurostat.tsv": EUROSTAT,
    "ga4.csv": GA4,
}


def of(folder: Path, name: str, content: str | bytes, stated: Stated = NOTHING_STATED) -> TableRead:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path, name, stated)


@pytest.mark.parametrize("name", NAMES)
def test_the_header_row_that_was_found_gives_the_same_table_when_it_is_stated(name: str, tmp_path: Path) -> None:
    table = of(tmp_path, name, NAMES[name])
    again = of(tmp_path, name, NAMES[name], Stated(header_row=table.found.header_row))
    assert again.frame.equals(table.frame)
    assert again.frame.schema == table.frame.schema


def test_a_second_table_is_read_where_its_header_row_is_stated(tmp_path: Path) -> None:
    table = of(tmp_path, "ga4.csv", GA4)
    assert table.frame.to_dict(as_series=False) == {"Source": ["google", "(direct)"], "Users": [100, 50]}
    assert "another table below the first one, not read: lines 8 to 13; state header_row to read it" in table.notes
    second = of(tmp_path, "ga4.csv", GA4, Stated(header_row=11))
    assert second.frame.to_dict(as_series=False) == {"Event": ["click", "view"], "Count": [20, 30], "Users": [10, 20]}


def test_flags_of_eurostat_are_counted(tmp_path: Path) -> None:
    table = of(tmp_path, "a.tsv", EUROSTAT)
    expected = {"freq": ["A", "A"], "geo": ["DE", "FR"], "2022": [1.5, None], "2023": [2.5, 3.0]}
    assert table.frame.to_dict(as_series=False) == expected
    assert "Eurostat's flags behind the numbers left out: b x 1, z x 1" in table.notes


def test_names_that_are_repeated_behind_a_blank_line_are_of_the_same_table(tmp_path: Path) -> None:
    table = of(tmp_path, "a.csv", "name,qty\na,1\nb,2\n\nname,qty\nc,3\n")
    assert table.frame.to_dict(as_series=False) == {"name": ["a", "b", "c"], "qty": [1, 2, 3]}
    assert "1 row left out: the names of the columns again" in table.notes


def test_balances_below_a_statement_are_remarks(tmp_path: Path) -> None:
    text = "Datum;Text;Betrag\n01.01.2024;a;1,50\n02.01.2024;b;2,50\n\nAnfangssaldo;100,00\nEndsaldo;104,00\n"
    table = of(tmp_path, "a.csv", text)
    assert table.frame["Betrag"].to_list() == [1.5, 2.5]
    assert "2 lines of remarks below the table left out" in table.notes


@pytest.mark.parametrize(
    "text",
    ["a,b\n1,2\n\n3,4\n5,6\n", 'a,b\n1,"x\n\nc,d\n1,2"\n3,y\n', "a,b\nx,y\n\nz,w\n", "a,b\n1,x\n\nnote,y\nz,z\n"],
)
def test_rows_behind_a_blank_line_stay_where_they_may_be_of_the_table(text: str, tmp_path: Path) -> None:
    assert not any("another table" in note for note in of(tmp_path, "a.csv", text).notes)


def _ods(styles: str, columns: str, *rows: str) -> bytes:
    parts = {"office": "office", "table": "table", "text": "text", "style": "style", "number": "datastyle"}
    names = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{part}:1.0"' for name, part in parts.items())
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    content = (
        f"<office:document-content {names}><office:automatic-styles>{styles}</office:automatic-styles><office:body>"
        f'<office:spreadsheet><table:table table:name="S">{columns}{body}</table:table></office:spreadsheet>'
        "</office:body></office:document-content>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
        archive.writestr("content.xml", content)
    return buffer.getvalue()


def test_formats_of_an_open_document_are_read(tmp_path: Path) -> None:
    styles = (
        '<number:number-style style:name="N1"><number:number number:decimal-places="0" number:min-integer-digits="5"/>'
        '</number:number-style><style:style style:name="c1" style:family="table-cell" style:data-style-name="N1"/>'
    )

    def cell(value: object, kind: str = "float", attribute: str = "value") -> str:
        given = f'office:value-type="{kind}" office:{attribute}="{value}"'
        return f"<table:table-cell {given}><text:p>{value}</text:p></table:table-cell>"

    def text(value: str) -> str:
        return f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'

    def row(code: int, share: float, day: str) -> str:
        cells = [cell(code), cell(share, "percentage"), cell(day, "date", "date-value"), cell(code)]
        return "<table:table-cell/>" + "".join(cells)

    names = "<table:table-cell/>" + "".join(map(text, ("zip", "share", "day", "n")))
    columns = '<table:table-column/><table:table-column table:default-cell-style-name="c1"/>'
    content = _ods(styles, columns, names, row(1234, 0.5, "2024-01-31"), row(98765, 0.25, "2024-02-01"))
    table = of(tmp_path, "a.ods", content)
    assert table.frame.select("zip", "share", "n").to_dict(as_series=False) == {
        "zip": ["01234", "98765"],
        "share": [0.5, 0.25],
        "n": [1234, 98765],
    }
    assert table.frame["day"].cast(str).to_list() == ["2024-01-31", "2024-02-01"]
    assert table.columns["zip"] == "kept as text, as the workbook shows it: format 00000"
    assert table.columns["share"].startswith("the workbook shows percentages")
