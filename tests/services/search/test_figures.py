"""Whether a record says a sentence's figures: graded sentences, true ones and nearly true ones."""

# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.search.figures import Figures

PHONE = """b
Beta Two
299
12
2024-03-05T00:00:00Z
Beta Two is a phone with a 12 megapixel camera. It weighs 0.5 kg and scored 8.7 of 10. Version 1.5 was released on \
2024-03-05. Discount: 3-5 % from 10:30 to 11:45. It lasts 18.25 hours; 1,299,000 were sold. Order SKU-4711-B or \
write to help@beta.example. Support ends on 31.12.2027, firmware 2.10.3, model BT-2X, 5G, -20 to 45 degrees."""
TRUE = (
    "costs 299 euros|costs 299.00 euros|costs €299|costs 299€|costs $299.0|has a 12 megapixel camera|"
    "has a 12-megapixel camera|has 12 in stock|weighs 0.5 kg|weighs .5 kg|weighs 0.50 kg|weighs 0,5 kg|"
    "weighs 0.5kg|scored 8.7|scored 8,7 of 10|scored 8.70 of 10.0|got 8.7/10|is at version 1.5|"
    "is version 1.5 of 2024|was released on 2024-03-05|was released on 5 March 2024|"
    "was released on March 5, 2024|was released on March 5th, 2024|was released on the 5th of March 2024|"
    "was released in March 2024|was released on 5 March|was released in 2024|was released on 05.03.2024|"
    "erschien am 5. März 2024|est sorti le 5 mars 2024|salió el 5 de marzo de 2024|has a discount of 3-5 %|"
    "has a discount from 3 to 5 %|has discounts between 3% and 5%|has a discount of 3–5 %|"
    "has a discount from 10:30|has a discount until 11:45|is reduced from 10:30 to 11:45|is reduced at 10:30 am|"
    "lasts 18.25 hours|lasts 18.3 hours|lasts 18.25h|sold 1,299,000 times|sold 1299000 times|"
    "sold 1 299 000 times|sold 1.299.000 mal|is SKU-4711-B|is SKU 4711 B|is sku-4711-b|"
    "has the address help@beta.example|is supported until 31 December 2027|is supported until 2027-12-31|"
    "is supported until December 2027|is supported until 2027|has firmware 2.10.3|is the BT-2X|is the BT2X|"
    "has 5G|works from -20 to 45 degrees|works up to 45 degrees|is a phone|is light"
)
FALSE = (
    "costs 2990 euros|costs 29 euros|costs 299.5 euros|costs 2.99 euros|costs 29900 cents|costs 300 euros|"
    "has a 120 megapixel camera|has a 1.2 megapixel camera|has a 13-megapixel camera|has 21 in stock|"
    "weighs 05 kg|weighs 5.0 kg|weighs 0.05 kg|weighs 0,55 kg|weighs 50 kg|weighs 500 kg|scored 87 of 10|"
    "scored 87|scored 8.75|scored 7.8|scored 9 of 10|is at version 15|is at version 1.6|is at version 1.5.1|"
    "was released on 2024-03-06|was released on 2024-05-03|was released on 5 April 2024|"
    "was released on 5 March 2023|was released on March 6, 2024|was released in April 2024|"
    "was released on 6 March|was released in 2023|was released on 06.03.2024|erschien am 5. Mai 2024|"
    "est sorti le 6 mars 2024|salió el 5 de mayo de 2024|has a discount of 35 %|has a discount from 3 to 50 %|"
    "has a discount of 4 to 6 %|has discounts between 30% and 50%|is reduced from 10:35|is reduced until 12:45|"
    "is reduced from 1030 to 1145|is reduced at 10:30 pm|lasts 1825 hours|lasts 18.4 hours|lasts 18.26 hours|"
    "lasts 17 hours|sold 1,299 times|sold 129900 times|sold 12,990,000 times|sold 1.299.001 mal|is SKU-4711-C|"
    "is SKU-4712-B|is SKU-47-11|is sku-4711-bb|has the address sales@beta.example|"
    "is supported until 30 December 2027|is supported until 2027-12-30|is supported until November 2027|"
    "is supported until 2028|has firmware 2.10.4|has firmware 2103|is the BT-3X|is the BT22X|has 6G|"
    "works from -30 to 45 degrees|works up to 55 degrees|works up to 4.5 degrees"
)

#: Numbers in words and with scales, in several languages.
HOTEL = """h
Hotel Seven Oaks
Hotel Seven Oaks has a dozen rooms on three floors and one lift. Guests may cancel up to 48 hours before arrival. The \
pool is 2.5 meters deep; the sauna takes eight people for half an hour. Breakfast costs fifteen euros, parking 9 euros. \
Built in nineteen twenty-eight, renovated for $1.3 million in 2019 with 250 lamps. 12,400 guests came last year, \
twenty-five of them from Norway. Die Garantie gilt zwei Jahre, die Miete anderthalb Monate. La terrasse a quatre-vingt-dix \
places. El contrato dura treinta y cinco meses. Il corso dura sei settimane. Договор действует трёх лет и стоит пять тысяч \
рублей. 会員期間は十二か月で、料金は三千円です。押金为二百元，有效期六个月。開館日は2024年5月3日。Открыт 7 марта 2023 года. สัญญามีอายุสิบแปดเดือน The suite is on the third floor."""
TRUE_IN_WORDS = (
    "has 12 rooms|has twelve rooms|has twelve-room wings|has a dozen rooms|is on 3 floors|is on three floors|has 1 lift|"
    "has one lift|may be canceled up to forty-eight hours before|has a pool of two and a half meters|takes 8 people|"
    "takes eight people in the sauna|has breakfast for 15 euros|hat Frühstück für fünfzehn Euro|charges nine euros|"
    "was built in 1928|was built in nineteen twenty-eight|was renovated for 1.3 million dollars|was renovated for $1,300,000|"
    "was renovated for $1.3M|has two hundred and fifty lamps|has two hundred fifty lamps|had 12.4k guests|had 12,400 guests|"
    "had about 12 thousand guests|had 25 guests from Norway|had fünfundzwanzig Gäste|gibt 2 Jahre Garantie|"
    "gibt zwei Jahre Garantie|gives two years of warranty|kostet 1,5 Monate Miete|a 90 places|a quatre-vingt-dix places|"
    "dura 35 meses|dura treinta y cinco meses|dura 6 settimane|dura sei settimane|lasts six weeks|действует 3 года|"
    "действует три года|стоит 5000 рублей|стоит пять тысяч рублей|の会員期間は12か月|の料金は3000円|は2024年5月3日に開館|opened on 3 May 2024|открыт 7 марта 2023|opened on 7 March 2023|押金200元|有效期6个月|"
    "มีอายุ 18 เดือน|lasts eighteen months|has the suite on the 3rd floor|hat die Suite im dritten Stock|is one of the best|"
    "is second to none|es sei denn|was once a school|is due for repair"
)
FALSE_IN_WORDS = (
    "has 13 rooms|has thirteen rooms|has two dozen rooms|is on four floors|is on 4 floors|"
    "may be canceled up to twenty-four hours before|may be canceled up to forty-eight days before|"
    "has a pool of three and a half meters|takes ten people|takes eighty people|has breakfast for fifty euros|"
    "hat Frühstück für fünfzig Euro|charges nineteen euros|was built in 1982|was built in nineteen eighty-two|"
    "was renovated for 13 million dollars|was renovated for $1.3 billion|was renovated for $1.4M|"
    "has two hundred and fifteen lamps|has five hundred and twenty lamps|had 124k guests|had about 13 thousand guests|"
    "had fünfundvierzig Gäste|had fifty-two guests from Norway|gibt 4 Jahre Garantie|gibt zwanzig Jahre Garantie|"
    "gibt zwei Monate Garantie|gives twenty years of warranty|kostet 2,5 Monate Miete|kostet zweieinhalb Monate Miete|"
    "a quatre-vingts places|a soixante-dix places|dura treinta y seis meses|dura cuarenta y cinco meses|"
    "dura treinta y cinco días|dura tredici settimane|lasts sixteen weeks|действует четыре года|"
    "действует тринадцать лет|стоит шесть тысяч рублей|стоит пять миллионов рублей|の会員期間は二十か月|の料金は四千円|は2024年5月4日に開館|は2024年6月3日に開館|открыт 8 марта 2023|открыт 7 мая 2023|押金三百元|"
    "有效期十六个月|มีอายุสิบเก้าเดือน|lasts nineteen months|has the suite on the fourth floor|hat die Suite im vierten Stock|"
    "has one hundred thousand lamps"
)
#: Hours, fractions, signs, round numbers and mixed notations.
LODGE = """l
Lodge
The lodge lies at 1,840 m, opens at 10:00 and closes at 18:30. Two thirds of the guests hike; 50 % stay 3 to 5 nights. Winters reach -18 °C. Call +41 81 555 01 23. Dinner from 7 pm. Route 12b takes 4½ hours; 0.75 l of water each. The hut was sold for CHF 2.4 million in the 1990s. Opened in June 1998. One in five guests is a child. Room 204 costs 95.50 CHF per night, 1'250 per month. Deposit 30%. Built 1905–1907. Version 2. Population 12 345. It weighs 3 kg 200 g. Bus 31 runs every 20 minutes between 6 and 9. Zwischen 2019 und 2021 kamen 3,5 Mio. Gäste. Speed 5 Gbit/s."""
TRUE_OF_LODGE = "lies at 1840 m|is at 1840 meters|opens at 10 am|opens at 10:00 am|closes at half past six|two thirds hike|2/3 of guests hike|half of them stay|stays of three to five nights|50 percent stay|reaches minus 18 degrees|reaches -18 degrees|dinner from 19:00|dinner from 7 p.m.|route 12b|takes 4.5 hours|takes four and a half hours|0.75 liters|three quarters of a liter|sold for 2.4 million francs|sold for 2,400,000 francs|in the 1990s|in the nineties|opened in June 1998|one in five|room 204|95.5 francs|CHF 95.50|1250 per month|1,250 per month|thirty percent|built from 1905 to 1907|12,345 people|bus 31|every twenty minutes|between six and nine|3.5 million guests|about 2 million francs|more than 12,000 people|5 Gbit/s|almost 2000 m"
FALSE_OF_LODGE = "lies at 1480 m|opens at 11 am|3/4 hike|60 percent stay|four to six nights|reaches -8 degrees|call +41 81 555 01 24|dinner from 8 pm|route 12c|takes 5.5 hours|0.57 liters|sold for 4.2 million francs|in the 1980s|opened in July 1998|opened in June 1989|room 240|99.50 francs|1520 per month|forty percent|built from 1906 to 1909|12,435 people|bus 13|every thirty minutes|5.3 million guests|18 km away"
GRADED = [
    (record, said, held)
    for record, sentences, held in (
        (PHONE, TRUE, True), (PHONE, FALSE, False), (HOTEL, TRUE_IN_WORDS, True), (HOTEL, FALSE_IN_WORDS, False),
        (LODGE, TRUE_OF_LODGE, True), (LODGE, FALSE_OF_LODGE, False),
    )
    for said in sentences.split("|")
]  # fmt: skip


def test_at_least_two_hundred_sentences_are_graded() -> None:
    assert len(GRADED) == len({(record, said) for record, said, _ in GRADED}) >= 200


@pytest.mark.parametrize(("record", "said", "held"), GRADED)
def test_a_sentence_is_kept_where_the_record_says_its_figures(record: str, said: str, held: bool) -> None:
    name = record.splitlines()[1]
    assert Figures.of(record).hold(Figures.of(f"{name} {said}.")) is held, (Figures.of(said), Figures.of(record))


@pytest.mark.parametrize(
    ("said", "records", "held"),
    [
        ("Two phones have it.", 2, True), ("There are two of them.", 2, True), ("Three phones have it.", 2, False),
        ("It has cameras, and two of them are wide.", 2, False), ("It costs 2 euros.", 2, False),
    ],
)  # fmt: skip
def test_a_sentence_may_count_the_records_that_it_cites(said: str, records: int, held: bool) -> None:
    assert Figures.of("Beta: a phone. Alpha: a phone.").hold(Figures.of(said, counted=records)) is held


@pytest.mark.parametrize(
    "words", ["8 novels", "5 decades", "12 sets", "6 settimane", "3 marks", "10 decibels", "2 марки"]
)
def test_words_that_begin_as_a_month_does_are_no_dates(words: str) -> None:
    assert not Figures.of(words).dates
    assert Figures.of(words).numbers


@given(st.integers(0, 10**9), st.integers(0, 4))
def test_a_number_is_held_in_every_way_it_is_written(whole: int, digits: int) -> None:
    number = whole / 10**digits
    text = f"{number:.{digits}f}"
    record = Figures.of(f"The value is {text} units.")
    grouped = f"{number:,.{digits}f}"
    for written in (
        text,
        grouped,
        grouped.replace(",", " "),
        grouped.replace(",", "'"),
        f"{text}0" if digits else text,
    ):
        assert record.hold(Figures.of(f"It has {written} units.")), written
    assert not record.hold(Figures.of(f"It has {whole + 1 + 10**digits:d} units."))


@pytest.mark.parametrize("text", ["1" * 20_000, "9 " * 5000, "7h30 " * 3000, "two " * 3000, "one-" * 5000, "1," * 3000])
def test_a_strange_text_is_read_in_bounded_time(text: str) -> None:
    assert Figures.of(text) is not None
