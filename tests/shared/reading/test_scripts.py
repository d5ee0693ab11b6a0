"""Encodings of scripts beyond Latin: found where they are certain, never where a text may be western."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.reading.read import read
from shared.reading.scripts import encoding_of_script, possible_encodings
from shared.reading.source import Unreadable

TEXTS = {
    "商品名,数量,単価\nりんご,3,120\nバナナ,5,98\n": ("cp932", "euc_jp"),
    "都道府県,人口\n北海道,5224614\n青森県,1237984\n岩手県,1210534\n": ("cp932", "euc_jp"),
    "姓名,部门,工资,入职日期\n张伟,销售部,8000,2020-01-05\n王芳,技术部,9500,2019-03-01\n": ("gb18030",),
    "姓名,部門,薪資,到職日\n陳小明,業務部,45000,2020-01-05\n林美玲,資訊部,52000,2019-03-01\n": ("cp950",),
    "이름,부서,급여,입사일\n김철수,영업부,3000000,2020-01-05\n이영희,개발팀,3500000,2019-03-01\n": ("cp949",),
    "Дата,Город,Сумма\n01.02.2024,Москва,100\n02.02.2024,Санкт-Петербург,200\n": ("windows-1251", "koi8-r", "cp866"),
    "Όνομα,Πόλη\nΓιώργος,Αθήνα\nΜαρία,Θεσσαλονίκη\n": ("windows-1253",),
}
WESTERN = {
    "Größe;Straße\nMüller;Köln\nJürgen;Düsseldorf\nGänse;Öl\n": ("windows-1252", "cp850", "mac-roman"),
    "Prénom;Ville;Société\nHélène;Besançon;Été\nÉlodie;Orléans;Noël\nÀ côté;ÉÀ\n": ("windows-1252", "mac-roman"),
    "Imię;Miasto\nŁukasz;Łódź\nŻaneta;Gdańsk\nŚwięty;Wrocław\n": ("cp1250",),
    "Şehir;İlçe\nİstanbul;Kadıköy\nŞanlıurfa;Eyyübiye\nGümüşhane;Köse\nçöğüş;ş\n": ("cp1254",),
    "ÑÑÑ;ÁÉÍÓÚ\nÑOÑO;ÁÉÍ\nÚÓÍÉÁ;ÑÁÑ\n": ("windows-1252",),
    "Año;Señor;Descripción\nPeña;Muñoz;¡Qué! ¿Sí?\n": ("windows-1252",),
}


@pytest.mark.parametrize(("text", "encoding"), [(text, name) for text, names in TEXTS.items() for name in names])
def test_a_table_is_read_in_the_encoding_that_it_is_written_in(text: str, encoding: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    table = read(tmp_path / "a.csv", "a.csv")
    lines = [line.split(",") for line in text.splitlines()]
    assert table.frame.columns == lines[0]
    assert table.frame.to_series(0).cast(str).len() == len(lines) - 1
    assert (table.found.encoding, table.notes[0]) == (encoding, f"encoding {encoding}")


@pytest.mark.parametrize(("text", "encoding"), [(text, name) for text, names in WESTERN.items() for name in names])
def test_a_western_text_is_of_no_other_script(text: str, encoding: str) -> None:
    assert encoding_of_script(text.encode(encoding)) is None


def test_a_text_of_few_letters_is_refused_where_they_may_be_of_another_script(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("品番,数\nA1,3\n".encode("cp932"))
    with pytest.raises(Unreadable, match=r"state its encoding, such as cp932 \(Shift-JIS\)"):
        read(tmp_path / "a.csv", "a.csv")
    (tmp_path / "a.csv").write_bytes("Größe,n\nfür,3\n".encode("cp1252"))
    assert read(tmp_path / "a.csv", "a.csv").frame.columns == ["Größe", "n"]


def test_what_a_refusal_names_can_be_stated() -> None:
    assert possible_encodings("ﾔﾏﾀﾞ".encode("cp932")).startswith("cp932 (Shift-JIS)")
    assert possible_encodings(b"\x98\n") == "koi8-r, cp866, windows-1255 (Hebrew), windows-1256 (Arabic)"


def test_bytes_that_the_encoding_does_not_define_are_noted(tmp_path: Path) -> None:
    text = "商品名,数量\n" + "りんご,3\nバナナ,5\n" * 20
    (tmp_path / "a.csv").write_bytes(text.encode("cp932") + b"\x82,4\n")
    assert "not defined in cp932, read as \ufffd: 1 byte" in read(tmp_path / "a.csv", "a.csv").notes
    (tmp_path / "b.csv").write_bytes("ﾔﾏﾀﾞ,ﾀﾛｳ\nｽｽﾞｷ,ﾊﾅｺ\n".encode("cp932"))
    with pytest.raises(Unreadable, match=r"state its encoding, such as cp932 \(Shift-JIS\)"):
        read(tmp_path / "b.csv", "b.csv")
