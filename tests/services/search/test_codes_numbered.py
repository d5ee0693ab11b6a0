"""A question that names one thing by a number that no record holds is not called found; a quantity changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from services.search.queries.numbered import named_numbers
from services.search.store.edge import EdgeStore
from services.search.store.open import open_local
from tests.services.search.service import HashedWords, MemorySearchService

TABLES: dict[str, Any] = {
    "invoices": {},
    "kunden": {},
    "zakazy": {},
    "kokyaku": {},
    "pedidos": {},
    "crm": {"fields": {"customer_id": "integer", "city": "keyword"}},
    "zones": {},
    "library": {},
    "faq": {},
}
_CITIES = ["Oslo", "Bern", "Rome", "Kiev", "Lima", "Quito", "Turin", "Nice", "Bonn"]
NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9]


def numbered(prefix: str, name: str, text: str) -> list[dict[str, Any]]:
    return [
        {"id": f"{prefix}{number}x", "name": name.format(number), "text": text.format(number)} for number in NUMBERS
    ]


RECORDS: dict[str, list[dict[str, Any]]] = {
    "invoices": [
        *numbered("i", "Invoice of May", "Invoice of 2023 for customer {0}, total 110 euros, open since 11 days."),
        {"id": "hash", "name": "Invoice of June", "text": "Invoice for customer #21, total 40 euros."},
        {"id": "no", "name": "Invoice of June", "text": "Invoice for Customer No. 22, total 50 euros."},
        {"id": "th", "name": "Invoice of June", "text": "Invoice for the 23rd customer, total 60 euros."},
        {"id": "label", "name": "Invoice of June", "text": "Invoice, customer_id: 24, total 70 euros."},
        {"id": "bare", "name": "Invoice of June", "text": "Invoice for a customer (No. 25), total 80 euros."},
    ],
    "kunden": numbered("k", "Kunde {0}", "Der Kunde zahlt die Lieferung in 11 Tagen, Lager {0}."),
    "zakazy": numbered("z", "Заказ № {0}", "Доставка заказа в город через 11 дней, оплата картой."),
    "kokyaku": numbered("j", "顧客{0}", "顧客番号{0}の住所と電話、11人の担当者。"),
    "pedidos": numbered("p", "Pedido {0}", "El pedido del cliente llega a la ciudad en 11 días."),
    "crm": [
        {
            "id": f"c{number}y",
            "name": f"Company {city}",
            "text": f"A customer in {city} with 11 shops.",
            "fields": {"customer_id": number, "city": city},
        }
        for number, city in zip(NUMBERS, _CITIES, strict=True)
    ],
    "zones": [
        {"id": f"zone-{number}", "name": f"Zone {number} parking", "text": "Parking rules in the zone of the city."}
        for number in NUMBERS
    ],
    "library": [
        {"id": "a", "name": "Journal of soil", "text": "Journal of soil science, ISSN 0317-8471, monthly."},
        {"id": "b", "name": "Flight to Rome", "text": "The flight BA 12 to Rome leaves at noon from gate 4."},
        {"id": "d", "name": "Quality", "text": "The plant is certified by ISO 9001:2015 for quality."},
        {"id": "e", "name": "Release notes", "text": "Version 3.11 of the scheduler is faster. Version 3.9.2 is old."},
        {"id": "f", "name": "Company car", "text": "The company car with the plate B-AB 1234 is blue."},
        {"id": "g", "name": "Author", "text": "Author of soil papers, ORCID 0000-0002-1694-233X."},
        {"id": "h", "name": "Cookbook", "text": "A cookbook of soups, ISBN 0-8044-2957-X."},
        {"id": "i", "name": "Front desk", "text": "Call the front desk, phone 555-0199."},
        {"id": "j", "name": "Gasket", "text": "Gasket for pumps, part number A-12."},
    ],
    "faq": [
        {"id": "steps", "name": "Reset", "text": "Reset the password of the portal in a few steps: open, click, save."},
        {"id": "rank", "name": "Ranking", "text": "The best hotels of the city by guests, with a pool and a view."},
        {"id": "python", "name": "Support", "text": "The version of Python that the runner supports is the latest."},
        {"id": "pizza", "name": "Meals", "text": "How to order pizzas for the team: send the order before noon."},
        {"id": "users", "name": "Plan", "text": "The plan price for users of the team includes the support."},
    ],
}


@pytest.fixture(scope="module", params=["local", "edge"])
def numbers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemorySearchService]:
    store = open_local() if request.param == "local" else EdgeStore(tmp_path_factory.mktemp("numbers"))
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", TABLES)
    for table, records in RECORDS.items():
        service.ingest(table, records)
    yield service
    store.close()


ABSENT = [
    ("invoices", "customer 11"),
    ("invoices", "What is the total of the invoice for customer 11?"),
    ("invoices", "Invoice for customer #31, total"),
    ("invoices", "Invoice for customer no. 33"),
    ("invoices", "invoice customer_id: 34 total"),
    ("invoices", "invoices for customers 5 and 77"),
    ("invoices", "invoice of customer 110, total euros"),
    ("kunden", "Kunde 11"),
    ("kunden", "Wann zahlt Kunde 11 die Lieferung?"),
    ("kunden", "Kundennummer 12: zahlt der Kunde die Lieferung?"),
    ("kunden", "Zahlt der Kunde Nr. 44 die Lieferung?"),
    ("kunden", "customer 15"),
    ("zakazy", "заказ 11"),
    ("zakazy", "Доставка заказа № 15 в город"),
    ("zakazy", "оплата заказа 33 картой"),
    ("kokyaku", "顧客11の住所"),
    ("kokyaku", "顧客番号15の電話"),
    ("kokyaku", "１２番の顧客の住所と電話"),
    ("pedidos", "pedido 11"),
    ("pedidos", "¿Cuándo llega el pedido número 15 a la ciudad?"),
    ("pedidos", "El pedido n.º 40 del cliente"),
    ("crm", "customer 11"),
    ("crm", "Which city is customer 12 in? A customer with shops"),
    ("zones", "Zone 11 parking"),
    ("zones", "Parking rules in zone 12"),
    ("library", "journal of soil science, ISSN 0317-8489"),
    ("library", "ISSN 1234-5678 journal of soil science"),
    ("library", "Where does the flight BA 13 to Rome leave?"),
    ("library", "is the plant certified by ISO 14001 for quality"),
    ("library", "is the plant certified by iso 45001"),
    ("library", "is version 3.12 of the scheduler faster?"),
    ("library", "company car with the plate B-AB 1235"),
    ("library", "author of soil papers ORCID 0000-0002-1694-2348"),
    ("library", "cookbook of soups ISBN 0-8044-2957-1"),
    ("library", "call the front desk phone 555-0198"),
    ("library", "gasket for pumps, part number A-13"),
    ("library", "flight to Rome from gate 77"),
    ("faq", "Where is order 12345 of pizzas for the team?"),
]

QUANTITIES = [
    ("invoices", "invoices for customer 5 with a total of 110 euros", None),
    ("invoices", "show 10 invoices of 2023 for customer", None),
    ("invoices", "invoice of May open since 30 days", None),
    ("invoices", "Invoice of 2023 for customers, top 20", None),
    ("kunden", "Der Kunde zahlt die Lieferung in 30 Tagen", None),
    ("kunden", "Lieferung an 20 Kunden, der Kunde zahlt", None),
    ("zakazy", "Доставка заказа через 20 дней в город", None),
    ("zakazy", "оплата картой 15 заказов, доставка в город", None),
    ("kokyaku", "顧客20人の住所と電話", None),
    ("kokyaku", "住所と電話、12人の担当者", None),
    ("pedidos", "El pedido llega a la ciudad en 20 días", None),
    ("pedidos", "El pedido del cliente, 15 pedidos", None),
    ("crm", "a customer in Oslo with 20 shops", "c1y"),
    ("crm", "customer in Rome founded 1987", "c3y"),
    ("zones", "Parking rules of the city for 20 cars", None),
    ("faq", "Reset the password of the portal in 3 steps", "steps"),
    ("faq", "top 10 best hotels of the city with a pool", "rank"),
    ("faq", "The version of Python 3 that the runner supports", "python"),
    ("faq", "How to order 12 pizzas for the team", "pizza"),
    ("faq", "The plan price for users 18 and older of the team", "users"),
    ("faq", "The plan price for 25 users of the team", "users"),
    ("faq", "In case 30 people come: how to order pizzas for the team", "pizza"),
]

HELD = [
    ("invoices", "customer 7", "i7x"),
    ("invoices", "What is the total of customer 21?", "hash"),
    ("invoices", "customer 22", "no"),
    ("invoices", "invoice for customer 23", "th"),
    ("invoices", "Which total has customer #24?", "label"),
    ("invoices", "Kunde 22", "no"),
    ("kunden", "Kunde Nr. 4", "k4x"),
    ("kunden", "Kundennummer 5", "k5x"),
    ("zakazy", "Где заказ 5?", "z5x"),
    ("zakazy", "доставка заказа №6 в город", "z6x"),
    ("kokyaku", "顧客番号3の住所", "j3x"),
    ("kokyaku", "4番の顧客", "j4x"),
    ("pedidos", "¿Dónde está el pedido n.º 8?", "p8x"),
    ("crm", "customer 3", "c3y"),
    ("crm", "Which city is customer no. 9 in?", "c9y"),
    ("zones", "rules of zone 4", "zone-4"),
    ("library", "issn 0317-8471", "a"),
    ("library", "Where does flight BA12 leave?", "b"),
    ("library", "iso 9001", "d"),
    ("library", "who is certified by ISO 9001:2015?", "d"),
    ("library", "what is new in version 3.11?", "e"),
    ("library", "is version 3.9 old?", "e"),
    ("library", "whose plate is BAB1234?", "f"),
    ("library", "0000-0002-1694-233x", "g"),
    ("library", "080442957X", "h"),
    ("library", "who answers at 555 0199, phone 555-0199", "i"),
    ("library", "part no. a-12", "j"),
]


@pytest.mark.parametrize(("table", "question"), ABSENT)
def test_a_number_that_no_record_holds_is_never_found(numbers: MemorySearchService, table: str, question: str) -> None:
    assert numbers.search(question, tables=[table], answer=False).verdict != "found"
    plan = [{"table": table, "search_mode": "master", "query_text": question}]
    assert numbers.search(question, plan=plan, max_reflections=0, answer=False).verdict != "found"


@pytest.mark.parametrize(("table", "question", "record"), QUANTITIES)
def test_a_quantity_leaves_found_what_is_found(
    numbers: MemorySearchService, table: str, question: str, record: str | None
) -> None:
    result = numbers.search(question, tables=[table], answer=False)
    assert result.verdict == "found"
    assert record is None or result.hits[table][0].id == record


@pytest.mark.parametrize(("table", "question", "record"), HELD)
def test_a_number_is_found_however_a_record_writes_it(
    numbers: MemorySearchService, table: str, question: str, record: str
) -> None:
    result = numbers.search(question, tables=[table], answer=False)
    first = result.hits[table][0]
    assert (result.verdict, first.id, first.weak) == ("found", record, False)


def test_a_record_whose_number_is_labelled_without_a_noun_may_be_meant(numbers: MemorySearchService) -> None:
    question = "Invoice for a customer, total 80 euros, customer 25"
    assert numbers.search(question, tables=["invoices"], answer=False).verdict == "found"


@pytest.mark.parametrize(
    ("question", "verdict"), [("Invoice for customer 11", "weak"), ("Invoice for customer 4", "found")]
)
def test_a_record_id_or_an_amount_is_not_the_number_of_a_customer(question: str, verdict: str) -> None:
    store = open_local()
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", {"invoices": {"fields": {"total": "integer"}}})
    records = [
        {
            "id": str(number),
            "name": f"Invoice {number}",
            "text": f"Invoice for customer {number % 5 + 1}, paid by card.",
            "fields": {"total": number},
        }
        for number in range(1, 21)
    ]
    service.ingest("invoices", records)
    assert service.search(question, tables=["invoices"], answer=False).verdict == verdict
    store.close()


def test_a_table_of_customers_without_a_noun_is_searched_by_its_ids() -> None:
    store = open_local()
    service = MemorySearchService(store, HashedWords())
    service.catalog.create("tenant", "c", {"people": {}})
    people = [{"id": str(number), "name": f"Customer in {city}"} for number, city in enumerate(_CITIES, 1)]
    service.ingest("people", people)
    assert service.search("customer 3", tables=["people"], answer=False).verdict == "found"
    assert service.search("customer 11", tables=["people"], answer=False).verdict == "weak"
    store.close()


@pytest.mark.parametrize(
    "measured",
    [
        "server 5 ms",
        "room 5 m2",
        "room 40 m²",
        "клиент 11 лет",
        "gate 3 km",
        "Kunde 5 Jahre",
        "cliente 4 años",
        "order 12 kg",
    ],
)
def test_a_number_with_a_unit_names_nothing(measured: str) -> None:
    noun_and_number = measured.rsplit(" ", 1)[0]
    assert named_numbers(noun_and_number)
    assert not named_numbers(measured)
