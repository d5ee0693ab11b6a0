"""Codes are distinguished from numbers, measures, dates and words, and found however they are written."""

# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import pytest

from services.search.queries.codes import NO_CODES, asked_codes, held_codes


@pytest.mark.parametrize(
    ("question", "codes"),
    [
        ("311992D3", {"311992d3"}),
        ("who sells 311992d3?", {"311992d3"}),
        ("is BC1012 in stock", {"bc1012"}),
        ("ISBN 978-952-51-5799-1", {"9789525157991"}),
        ("ISBN 978 952 51 5799 1", {"9789525157991"}),
        ("the book 9789525157991", {"9789525157991"}),
        ("ISBN 9789525157991", {"9789525157991"}),
        ("order PO 4500123456", {"4500123456"}),
        ("ISBN-13: 978-952-51-5799-1", {"9789525157991"}),
        ("what is new in version 3.11.2?", {"3.11.2"}),
        ("v2.3.1 changes", {"2.3.1"}),
        ("who has 10.0.0.1", {"10.0.0.1"}),
        ("CVE-2024-3094", {"cve20243094"}),
        ("RFC 9457", {"rfc9457"}),
        ("rfc 9457", {"rfc9457"}),
        ("What does RFC 9457 say?", {"rfc9457"}),
        ("certified by ISO 27001", {"iso27001"}),
        ("error E501 and TS2304", {"e501", "ts2304"}),
        ("mail jane.doe@parts.example please", {"jane.doe@parts.example"}),
        ("invoice INV-2024-001", {"inv2024001"}),
        ("call +49 30 1234567", {"49301234567"}),
        ("call +49 (30) 123-4567", {"49301234567"}),
        ("IBAN DE89 3704 0044 0532 0130 00", {"de89370400440532013000"}),
        ("serial 00123456", {"00123456"}),
        ("article 04433", {"04433"}),
        ("550e8400-e29b-41d4-a716-446655440000", {"550e8400e29b41d4a716446655440000"}),
        ("MAC ab:cd:ef:01:23:45", {"abcdef012345"}),
        ("Ersatzteil X-4471B und Y-4472C", {"x4471b", "y4472c"}),
        ("order 8837261", {"8837261"}),
        ("ISBN 978-952-51-5799-2", {"9789525157992"}),
        ("Invoice 2025-001", {"2025001"}),
        ("Rechnung 2025/117", {"2025117"}),
        ("price of BTX-2000", {"btx2000"}),
        ("商品番号AB-1234の在庫は?", {"ab1234"}),
        ("品番：ＡＢ－１２３４５はありますか", {"ab12345"}),
        ("订单号INV-2024-00317的状态", {"inv202400317"}),
        ("AB-12345의 재고", {"ab12345"}),
        ("ราคาของAB-12345เท่าไร", {"ab12345"}),
        ("מה המחיר של ה-KX-22310?", {"kx22310"}),
        ("ما هو سعر الKX-22310؟", {"kx22310"}),
        ("Onko AB-1234:n hinta noussut?", {"ab1234"}),
        ("vin WVWZZZ1JZXW000001", {"wvwzzz1jzxw000001"}),
        ("doi:10.1038/s41586-020-2649-2", {"101038s4158602026492"}),
        ("https://doi.org/10.1038/s41586-020-2649-2", {"101038s4158602026492"}),
        ("MAC dead:beef:12:34", {"deadbeef1234"}),
    ],
)
def test_what_can_only_be_a_code_binds(question: str, codes: set[str]) -> None:
    assert asked_codes(question).binding == codes


@pytest.mark.parametrize(
    "question",
    [
        "how many of the 500 seats are left", "in 2024", "on 2024-01-15", "on 15.01.2024", "at 10:30", "in 2019-2020",
        "1,299,000 euros", "1.299.000 Euro", "about 250000 euros a year", "costs 123456 dollars", "a 30-day trial",
        "a 16-bit number", "50mm lens", "24/7 support", "pages 10-20", "H2O", "MP3 player", "GPT-4o", "float32, log10",
        "EUR 1500", "5G", "iPhone 15", "Windows 11", "100%", "top-10 list", "version 3.11", "3000 rpm", "the 1990s",
        "a quarter of 1000000", "HOW MANY OF THE 500 SEATS", "utf-8", "COVID-19", "", "customer 11",
        "a salary above 100000", "phones of 2024 with 5G",
        "what happened on 2024-03-05 at 10:30?", "between 10 and 20", "rooms for 3-5 people", "in 1990-95", "16:9",
        "2024年5月3日に何がありましたか", "価格が123456円以上の家", "人口123456人的城市", "연봉 123456원",
        "$123456", "€ 123456",
        "123456 yuan", "a salary above 123456", "Gehälter über 123456", "plus de 123456 habitants", "> 123456",
        "a 1920x1080 monitor", "M8x40 screws", "the 4x100 relay", "paper of 80g/m2", "in 2023-W05", "größer als 123456",
        "больше 123456",
    ],
)  # fmt: skip
def test_numbers_measures_dates_and_words_do_not_bind(question: str) -> None:
    assert asked_codes(question).binding == frozenset()


@pytest.mark.parametrize(
    ("question", "key"),
    [("4433", "4433"), ("order 12345", "order12345"), ("#12345", "12345"),
     ("log10", "log10"), ("4471B", "4471b"), ("room 101", "room101"), ("python3.11", "python311"),
     ("bc1010", "bc1010")],
)  # fmt: skip
def test_what_may_be_a_code_is_one_where_a_record_holds_it(question: str, key: str) -> None:
    asked = asked_codes(question)
    assert key in asked.possible
    assert not asked.binding


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Spare part X-4471B.", "x4471b"),
        ("Spare part X-4471B.", "4471B"),
        ("ISBN 978-952-51-5799-1", "9789525157991"),
        ("ISBN 978 952 51 5799 1, paperback", "978-952-51-5799-1"),
        ("(9789525157991)", "ISBN 978 952 51 5799 1"),
        ("Released as v3.11.2-rc1", "3.11.2"),
        ("see RFC 9457, section 3", "RFC-9457"),
        ("see RFC9457", "RFC 9457"),
        ("Mail: Jane@Parts.example", "jane@parts.example"),
        ("Tel. +49 (30) 123-4567", "+49 30 1234567"),
        ("IBAN DE89370400440532013000", "DE89 3704 0044 0532 0130 00"),
        ("item 4433 of 9000", "4433"),
        ("300000D0, 400000B", "400000b"),
        ("311 992 D3", "311992D3"),
        ("311-992-D3", "311992d3"),
        ("Cross references: 300000D0, 311992D3.", "311 992 D3"),
        ("sku_123/blue", "SKU-123"),
        ("商品番号AB-1234、在庫あり", "商品番号AB-1234の在庫は?"),
        ("商品番号AB-1234です", "AB-1234"),
        ("AB-1234, in stock", "型番:ＡＢ－１２３４"),
        ("商品番号01234567です", "０１２３４５６７とは"),
        ("See https://doi.org/10.1038/s41586-020-2649-2.", "10.1038/s41586-020-2649-2"),
        ("DOI 10.1038/s41586-020-2649-2", "doi:10.1038/s41586-020-2649-2"),
        ("https://tracker.example/browse/OPS-48213", "OPS-48213"),
        ("arXiv:1706.03762v5", "arXiv 1706.03762"),
        ("PMID:31978945", "PMID 31978945"),
        ("UPS 1Z 999 AA1 01 2345 6784", "1Z999AA10123456784"),
        ("Tel. +49 (0)30 123 45 67", "+49 30 1234567"),
        ("part AB\u20111234 (Word's hyphen)", "AB-1234"),
        ("ISBN 978\u20110\u2011306\u201140615\u20117", "9780306406157"),
        ("serial C02X\u200bK1JHJG5J", "C02XK1JHJG5J"),
        ("image nginx:1.25.3", "1.25.3"),
    ],
)
def test_a_code_is_held_however_it_is_written(written: str, asked: str) -> None:
    codes = asked_codes(asked)
    assert codes != NO_CODES
    assert codes.every & held_codes(written)
    assert codes.binding <= held_codes(written)


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("ISBN 978-952-51-5799-1", "978-952-51-5799-2"),
        ("311992D3", "311992D"),
        ("311992D31", "311992D3"),
        ("x311992D3", "311992D3"),
        ("311992D4", "311992D3"),
        ("BC1010 and BC1011", "BC1012"),
        ("version 3.11.20", "3.11.2"),
        ("version 31.12", "3.1.12"),
        ("04433", "4433"),
        ("RFC 9457", "RFC 9458"),
        ("jane@parts.example", "ane@parts.example"),
        ("on 2024-01-15", "20240115"),
        ("商品番号AB-1234です", "商品番号AB-1235の在庫は?"),
        ("https://doi.org/10.1038/s41586-020-2649-2", "10.1038/s41586-020-2649-3"),
    ],
)
def test_another_code_is_not_held(written: str, asked: str) -> None:
    assert not asked_codes(asked).every & held_codes(written)


PLATES = [
    "AB-123-CD", "AB 123 CE", "1234 BCD", "1234BCD", "12-ABC-3", "AB-12-CD", "12-34-AB", "1-ABC-123", "ABC 12D", "ABC 123",
    "WA 12345", "KR 1AB23", "B 123 ABC", "CJ 12 ABC", "1AB 2345", "1A2 3456", "34 ABC 123", "34 AB 1234", "MH 12 AB 1234",
    "KA-05-MH-1234", "А123ВС77", "А 123 ВС 77", "АА 1234 ВВ", "СА 1234 АВ", "京A12345", "沪B·12345", "粤AD12345",
    "品川 300 あ 12-34", "品川330さ1234", "12가 3456", "123가4567", "1กข 1234", "ABC1D23", "7ABC123", "ZH 123456",
    "B-AB 1234", "AB12 CDE", "221-D-12345",
]  # fmt: skip


@pytest.mark.parametrize("plate", PLATES)
@pytest.mark.parametrize("question", ["who parks the car {}?", "Wem gehört der Wagen {}", "停车 {} 在哪"])
def test_a_plate_of_any_country_binds_without_a_label(plate: str, question: str) -> None:
    last = max(at for at, sign in enumerate(plate) if sign.isdigit())
    other = f"{plate[:last]}{(int(plate[last]) + 1) % 10}{plate[last + 1 :]}"
    asked = asked_codes(question.format(plate))
    assert asked.binding
    assert asked.binding <= held_codes(f"The white van {plate} is in the yard.")
    assert not asked.binding <= held_codes(f"The white van {other} is in the yard.")


@pytest.mark.parametrize(
    "question",
    ["an engine of 1500 CFM", "20 USD 100 times", "pay 1234 CZK today", "in 2002 BMW sold", "the 100 m race", "a 4K 2160 screen",
     "room 12 B 34", "20 TB 2024", "costs 1500 MXN", "A4 210 x 297", "in 1990 DDR", "12月 2024", "2024년 1234", "第12号 3456",
     "停车 TOP 10 在哪"],
)  # fmt: skip
def test_amounts_and_years_with_capitals_are_no_plates(question: str) -> None:
    assert not asked_codes(question).binding


def test_a_long_text_of_numbers_is_read_in_bounded_time() -> None:
    assert len(held_codes("1-" * 100_000)) < 1000
    assert held_codes("A1.B2-C3/" * 20_000)
    assert asked_codes("9 " * 4000) is not None


@pytest.mark.parametrize(
    ("question", "is_alike"),
    [
        ("What is DR-71 for?", True), ("DR71", True), ("Durchwahl 4712", True), ("extension 4712", False),
        ("COVID-19", False), ("a trip of 250 EUR", False), ("Jahr 1871", False), ("4700 Konten", False),
        ("Durchwahl 4700", False), ("Durchwahl 471", False), ("WHAT IS THE DR-71 FOR", False),
    ],
)  # fmt: skip
def test_a_short_code_binds_where_others_are_written_like_it(question: str, is_alike: bool) -> None:
    held = held_codes("Forms DR-17 and Durchwahl 4711, 4711 times")
    asked = asked_codes(question)
    assert not asked.binding
    assert any(family.name in held and family.key not in held for family in asked.families) is is_alike
