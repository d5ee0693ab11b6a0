"""Whether a record says a sentence's figures: graded sentences, true ones and nearly true ones."""

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


@pytest.mark.parametrize("said", TRUE.split("|"))
def test_what_the_record_says_is_kept(said: str) -> None:
    assert Figures.of(PHONE).hold(Figures.of(f"Beta Two {said}.")), Figures.of(said)


@pytest.mark.parametrize("said", FALSE.split("|"))
def test_what_the_record_does_not_say_is_not(said: str) -> None:
    assert not Figures.of(PHONE).hold(Figures.of(f"Beta Two {said}.")), Figures.of(said)


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
