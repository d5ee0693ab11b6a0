"""Tables of a shop that exists nowhere, written by a rule: small, with gaps, ties and repeated values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from benchmarks.transform_tasks.task import Row

_NAMES = ("Ada", "Bo", "Cleo", "Dag", "Eva", "Finn", "Gro", "Hal", "Ida", "Jon", "Kim", "Liv")
_CITIES = ("Oslo", "Rome", "Oslo", "Graz", "Rome", "Cork")
_PRODUCTS = (
    ("lamp", "light", 1200, 14), ("candle", "light", 150, 80), ("chair", "seat", 5400, 6), ("stool", "seat", 2300, 0),
    ("bench", "seat", 9800, 2), ("mug", "kitchen", 310, 45), ("bowl", "kitchen", 620, 0), ("rug", "floor", 4100, 9),
)  # fmt: skip
_PRICES = (39.5, 4.25, 79.0, 45.0, 120.75, 8.5, 12.0, 99.9)
_TEAMS = ("sales", "store", "office")


def _orders() -> list[Row]:
    first = date(2025, 1, 6)
    return [
        {
            "id": number,
            "day": (first + timedelta(days=number * number % 97)).isoformat(),
            "customer": (number * 7 + number // 5) % 11 + 1,
            "product": _PRODUCTS[number * 5 % 7][0],
            "quantity": number * 3 % 8 + 1,
            "price": _PRICES[number * 5 % 7],
            "paid": number % 4 != 1,
            "channel": ("web", "shop", "phone")[(number // 4 + number) % 3],
            "rating": None if number % 6 == 2 else number * 11 % 5 + 1,
        }
        for number in range(1, 61)
    ]


def _customers() -> list[Row]:
    return [
        {
            "id": number,
            "name": name,
            "city": _CITIES[number % 6],
            "since": 2019 + number * 3 % 6,
            "discount": None if number % 3 == 0 else number * 5 % 20,
            "email": f"{name.lower()}@{('mail', 'post')[number % 2]}.example" if number % 5 else None,
        }
        for number, name in enumerate(_NAMES, 1)
    ]


def _readings() -> list[Row]:
    return [
        {
            "sensor": sensor,
            "hour": hour,
            "celsius": None if (hour * 5 + place) % 9 == 4 else 15 + (hour * 7 + place * 11) % 13 + place / 4,
        }
        for place, sensor in enumerate(("cellar", "hall", "roof"))
        for hour in range(16)
    ]


def _staff() -> list[Row]:
    return [
        {
            "id": number,
            "name": f"{name} {'ABC'[number % 3]}.",
            "boss": None if number == 1 else number // 2,
            "team": _TEAMS[number % 3],
            "salary": 2500 + number * 370 % 1900,
            "hired": f"20{15 + number * 5 % 9}-{number % 12 + 1:02}-15",
        }
        for number, name in enumerate(_NAMES, 1)
    ]


SHOP: Mapping[str, Sequence[Row]] = {
    "orders": _orders(),
    "customers": _customers(),
    "products": [dict(zip(("product", "category", "grams", "stock"), row, strict=True)) for row in _PRODUCTS],
    "readings": _readings(),
    "staff": _staff(),
}
