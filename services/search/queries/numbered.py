"""Things that are named by a noun and a number: customer 11, Rechnung Nr. 7, заказ № 5, 顧客番号11, version 3.11.

Unlike other codes the number alone says nothing, so such a name binds only where a table's records are numbered in the
same way, or hold the number nowhere. Nouns are compared by what they mean: ``Kunde 11`` is ``customer 11``.
"""
# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pydantic import JsonValue

from services.search.queries.quantities import UNNAMING, YEAR, is_measured

#: Nouns of things that people number, in English, German, Russian, Spanish, French, Japanese and Chinese.
_NOUNS: Mapping[str, str] = {
    "customer": r"customers?|clients?|clientes?|kunden?|kundin|(?:клиент|заказчик|покупател)\w{0,3}|顧客|お客様|得意先|客户",
    "order": r"orders?|bestellung(?:en)?|auftrags?|aufträgen?|заказ(?:а|у|ом|е|ы|ов)?|pedidos?|commandes?|注文|订单",
    "invoice": r"invoices?|bills?|rechnung(?:en)?|сч[её]т(?:а|у|ом|е|ов)?|facturas?|factures?|請求書|发票",
    "ticket": r"tickets?|issues?|bugs?|тикет\w{0,3}|チケット|工单",
    "case": r"cases?|vorgang|vorgangs|дел[оауе]м?|casos?|案件",
    "account": r"accounts?|konto|kontos|konten|cuentas?|comptes?|アカウント|口座",
    "user": r"users?|benutzern?s?|nutzern?s?|usuarios?|utilisateurs?|пользовател\w{1,3}|ユーザー|用户",
    "employee": r"employees?|mitarbeiter(?:in|s|n)?|empleados?|сотрудник\w{0,3}|従業員|社員|员工",
    "patient": r"patient(?:s|en|in)?|pacientes?|пациент\w{0,3}|患者",
    "student": r"students?|schülern?|studenten?|estudiantes?|alumnos?|студент\w{0,3}|学生",
    "member": r"members?|mitglied(?:s|er|ern)?|miembros?|socios?|会員",
    "supplier": r"suppliers?|vendors?|lieferant(?:en|in)?|proveedor(?:es)?|поставщик\w{0,3}|仕入先",
    "contract": r"contracts?|vertrags?|verträgen?|contratos?|contrats?|(?:договор|контракт)\w{0,3}|契約|合同",
    "policy": r"polic(?:y|ies)|policen?|pólizas?|полис\w{0,2}",
    "room": r"rooms?|zimmern?s?|habitaci[oó]n|кабинет\w{0,2}|chambres?|部屋|会議室",
    "product": r"products?|produkte?n?s?|productos?|produits?|товар\w{0,3}|製品|商品|产品",
    "article": r"articles?|artikeln?s?|artículos?|артикул\w{0,2}|стать\w{1,3}",
    "item": r"items?|品目",
    "project": r"projects?|projekte?n?s?|proyectos?|projets?|проект\w{0,3}|プロジェクト|项目",
    "machine": r"machines?|maschinen?|máquinas?|станк\w{1,3}|機械|设备",
    "device": r"devices?|geräte?n?s?|dispositivos?|устройств\w{0,3}|装置",
    "batch": r"batch(?:es)?|chargen?|lotes?|парти[яию]|ロット",
    "flight": r"flights?|flugs?|flügen?|vuelos?|рейс\w{0,3}",
    "train": r"trains?|zugs?|züge|tren|trenes|поезд\w{0,2}",
    "bus": r"bus|buses|autobús|автобус\w{0,2}|バス",
    "gate": r"gates?|flugsteigs?",
    "shipment": r"shipments?|parcels?|sendung(?:en)?|pakete?s?|envíos?|paquetes?|посылк\w{1,2}|荷物",
    "booking": r"bookings?|reservations?|buchung(?:en)?|reservierung(?:en)?|reservas?|брон[ьи]|бронировани\w|予約",
    "request": r"requests?|anfragen?|solicitud(?:es)?|заявк\w{1,3}|申請",
    "task": r"tasks?|jobs?|aufgaben?|tareas?|задач\w{1,3}|タスク|任务",
    "apartment": r"apartments?|wohnung(?:en)?|apartamentos?|departamentos?|квартир\w{0,2}",
    "seat": r"seats?|sitzplatz|asientos?",
    "vehicle": r"vehicles?|trucks?|fahrzeuge?n?s?|vehículos?|車両",
    "branch": r"branch(?:es)?|filialen?|sucursal(?:es)?|филиал\w{0,2}|店舗",
    "warehouse": r"warehouses?|lagers?|almac[eé]n|склад\w{0,2}|倉庫",
    "sensor": r"sensors?|sensoren|sensores|датчик\w{0,3}|センサー",
    "server": r"servers?|servern|servidor(?:es)?|сервер\w{0,2}|サーバー",
    "record": r"records?|registros?|datensatz|datensätze|запис[ьи]|レコード",
    "document": r"documents?|dokumente?n?s?|documentos?|документ\w{0,3}|文書",
}  # fmt: skip
_CONCEPTS = {concept: re.compile(pattern, re.IGNORECASE) for concept, pattern in _NOUNS.items()}
_UNSPACED_LABEL = re.compile("(?:番号|番|号码|编号|号)$")
_JOINED = "[\u3005-\u3007\u3041-\u30ff\u3400-\u9fff]"
_UNSPACED = re.compile(_JOINED)
_LABEL = r"(?:id|ids|no|nos|nr|num|number|numbers|nummern?|numero|número|n\.?º|n°|номер\w{0,3}|№|番号|号码|编号|code)"
_LIST = r"(?:\s?(?:,|&|and|or|und|oder|y|o|et|ou|и|или|と)\s?#?\d{1,12}(?![\w%]|[.,:/-]\d))*"
_NAMED = re.compile(
    rf"(?P<noun>(?<![^\W_])[A-Za-z\u00c0-\u04ff]{{2,24}}|{_JOINED}{{2,8}})"
    rf"(?P<label>(?:[\s_-]{{0,2}}{_LABEL}(?![^\W\d_]))*\.?[\s\u00a0_:=#№-]{{0,3}})"
    rf"(?P<numbers>\d{{1,12}}(?!\d){_LIST})(?![^\W_]*[A-Za-z]|[.,:/-]\d|\s?%)",
    re.IGNORECASE,
)
#: The number before the noun: the 11th customer, 11番の顧客.
_BEFORE = re.compile(
    r"(?<![\w.,])(?P<number>\d{1,12})(?:(?:st|nd|rd|th|\.|º|ª|-?(?:й|я|го|му))\s|\s?(?P<named>番の)\s?)(?P<noun>[^\W\d_]{2,24})",
    re.IGNORECASE,
)
#: A number that is labelled as a number, without its noun: #11, No. 11, № 11.
_BARE = re.compile(
    r"(?<![\w&/])(?:#\s?|№\s?|[Nn][or]\.\s?|N[or]\s|[Nn]\.?º\s?|[Nn]°\s?|(?:ID|Id|id)\s?[:=#]?\s?)(\d{1,12})"
    r"(?![\w%]|[.,:/-]\d)"
)
_ORDINAL = re.compile(
    r"(?<![\w.,])(\d{1,6})(?:st|nd|rd|th)(?![\w-])(?!\s(?:of\s|centur|floor|grade|[JFMASOND][a-z]{2,8}\b))"
)
_OPEN = re.compile(r"(?<![\w./:-])([^\W\d_]{2,20})[ \u00a0_-](\d{1,6})(?![\w%]|[.,:/-]\d)")
_VERSION = re.compile(
    r"(?<![^\W_])(?:versions?|versión|versiones|versionen|верси[яиюей]{1,2}|バージョン|版本|releases?)[\s:#]{0,2}"
    r"v?(\d{1,4}(?:\.\d{1,4}){1,3})(?![\w]|\.\d)",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"(?<![\w.,])v?(\d{1,4}(?:\.\d{1,4}){1,3})(?![.,]?\d)", re.IGNORECASE)
_PAST_YEAR = re.compile(r"1[0-8]\d\d|(?:19|20)\d\d")
_TRAILING = re.compile(r"(?<!\d)(\d{1,12})$")
_ID = re.compile(r"(?:([^\W\d_]{2,20})[ _:#-]?)?(\d{1,12})")
_FIELD_PARTS = re.compile(r"[^\W\d_]+?(?=[A-Z][a-z]|_|-|\s|$)|[^\W\d_]+")
_FIELD_LABEL = re.compile(r"(?:id|no|nr|num|number|nummer|numero|número|номер|番号|code|key)", re.IGNORECASE)
_COMPOUND = re.compile(r"(?i)(.+?)s?[-_]?(?:nummer|nr|id|no|番号)$")
#: After a number: it counts or bounds something.
_COUNTING = re.compile(
    r"\s?\+|\s?(?:and|or)\s(?:older|over|above|up|more|younger|under|fewer|less)\b|\s?(?:to|through|bis|до|hasta|[–—~〜])\s?\d"
    r"|\s?(?:und|oder)\s(?:älter|mehr|jünger|weniger)\b|\s?(?:y|o)\s(?:más|menos|mayores)\b|\s?(?:и|или)\s(?:более|старше|менее)\b"
    r"|\s?(?:人|名|個|个|件|回|台|年|月|日|円|元|本|枚|社|つ|倍|歳|時|分|秒|万|以上|以下)"
)
_PLURAL = re.compile(r"\s([a-z]{3,})s\b")
#: What is not the plural of something counted, though it ends alike.
_NOT_COUNTED = frozenset({
    "address", "alway", "arrive", "belong", "busines", "buy", "contain", "cos", "cost", "cover", "depart", "doe", "end",
    "expire", "get", "goe", "include", "leave", "live", "make", "mean", "need", "owe", "pay", "plu", "regard", "run",
    "say", "state", "statu", "stop", "start", "thi", "use", "want", "work",
})  # fmt: skip
#: Words before a noun that make it part of an expression, or a verb.
_WORD_AFTER = re.compile(r"\s?\w")
_NOT_NOUN = re.compile(r"\b(?:in|just in|to|can|could|must|should|will|would|we|i|you|they|please)\s$", re.IGNORECASE)
_VERBS = frozenset({"order", "case", "request", "record", "document", "invoice", "ticket", "branch"})
#: Words before a number that rank, count or bound.
RANKING = frozenset({
    "top", "best", "first", "last", "next", "every", "another", "other", "max", "min", "under", "beste", "besten",
    "ersten", "letzten", "nächsten", "alle", "mejores", "primeros", "últimos", "primeras", "últimas", "todos", "первые",
    "последние", "лучшие", "лучших", "топ", "все", "ll", "any", "each", "just", "least", "exactly", "nearly", "almost",
    "give", "show", "list", "find", "name", "take", "need", "want", "buy", "get", "make", "en", "dentro", "через", "за",
    "на", "по", "до", "от", "из", "в", "с", "age", "aged", "price", "costs", "size", "weight", "alter", "preis",
    "größe", "precio", "edad", "цена", "возраст", "january", "february", "march", "april", "may", "june", "july",
    "august", "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec", "januar", "februar", "märz", "mai", "juni", "juli", "oktober", "dezember", "monday", "tuesday",
    "wednesday", "thursday", "friday", "saturday", "sunday", "limit", "euro", "usd", "eur", "python", "java", "php",
})  # fmt: skip
_VERSION_NOUN = "version"


@dataclass(frozen=True, order=True)
class NamedNumber:
    """What a question names by a noun and a number."""

    noun: str  #: what it means, or the word itself; empty where only the number is labelled
    number: str
    known: bool  #: whether things of that noun are usually numbered

    @property
    def key(self) -> str:
        """Key of the records that hold it."""
        return f"{self.noun or 'any'}#{self.number}"

    @property
    def labelled(self) -> str:
        """Key of the records that label the number without its noun; they may hold it."""
        return f"#{self.number}"

    @property
    def own(self) -> str:
        """Key of the records of which it is the number; they may hold it where no record is numbered by the noun."""
        return f"own#{self.number}"

    @property
    def series(self) -> str:
        """Key of the records that hold any number of the noun."""
        return f"{self.noun}#"


def named_numbers(text: str) -> frozenset[NamedNumber]:
    """Return what a question names by a noun and a number; quantities, years and limits are left out."""
    versions = (match[1] for match in _VERSION.finditer(text))  # one of three parts is a code by itself
    named = {NamedNumber(_VERSION_NOUN, version, True) for version in versions if version.count(".") == 1}
    rest = _VERSION.sub(" ; ", text)
    kept, end = [], 0
    for match in _NAMED.finditer(rest):
        noun, compound = _noun(match["noun"])
        if noun is None:
            continue
        kept.append(rest[end : match.start()])
        end = match.end()
        labelled = compound or bool(match["label"].strip(" \u00a0_-"))
        if labelled or not (_counts(rest, end) or _is_verb(rest, match, noun)):
            named.update(NamedNumber(noun, number, True) for number in _numbers(match["numbers"]))
    rest = " ; ".join([*kept, rest[end:]])
    for match in _BEFORE.finditer(rest):
        noun, _ = _noun(match["noun"], first=True)
        if noun is not None and match["named"]:
            named.add(NamedNumber(noun, match["number"], True))
    named.update(NamedNumber("", match[1], True) for match in _BARE.finditer(rest) if match[1] not in ("0", "1"))
    for match in _OPEN.finditer(_BARE.sub(" ; ", rest)):
        word, number = match[1].lower(), match[2]
        counts = _PAST_YEAR.fullmatch(number) or _counts(match.string, match.end())
        if word not in RANKING | UNNAMING and not counts:
            named.add(NamedNumber(word, number, False))
    return frozenset(named)


def numbered_keys(text: str) -> Iterator[str]:
    """Yield the keys of what a text of a record names by a noun and a number."""
    for match in _NAMED.finditer(text):
        noun, _ = _noun(match["noun"])
        if noun is not None:
            for number in _numbers(match["numbers"]):
                yield from _keys(noun, number)
    for match in _BEFORE.finditer(text):
        noun, _ = _noun(match["noun"], first=True)
        if noun is not None:
            yield from _keys(noun, match["number"])
    for pattern in (_BARE, _ORDINAL):
        for match in pattern.finditer(text):
            yield from (f"#{match[1]}", f"any#{match[1]}")
    if _VERSION.search(text):
        yield f"{_VERSION_NOUN}#"
    for match in _DOTTED.finditer(text):
        parts = match[1].split(".")
        yield from (f"{_VERSION_NOUN}#{'.'.join(parts[:end])}" for end in range(2, len(parts) + 1))


def identity_keys(name: str, record_id: str, fields: Mapping[str, JsonValue]) -> frozenset[str]:
    """Return the keys of the numbers that a record has by its name, its id and its fields."""
    keys: set[str] = set()
    for match in _OPEN.finditer(name):
        keys.update(_keys(concept_of(match[1]), match[2]))
    trailing = _TRAILING.search(name.strip())
    if trailing:
        keys.update(_own(trailing[1]))
    own = _ID.fullmatch(record_id)
    if own:
        keys.update(_own(own[2]))
        if own[1]:
            keys.update(_keys(concept_of(own[1]), own[2]))
    for field, value in fields.items():
        noun = _noun_of_field(field)
        for number in _numbers_of(value) if noun is not None else ():
            keys.update(_keys(noun, number) if noun else _own(number))
    return frozenset(keys)


@lru_cache(maxsize=10_000)
def concept_of(word: str) -> str:
    """Return what a noun means, or the word itself."""
    return next((concept for concept, pattern in _CONCEPTS.items() if pattern.fullmatch(word)), word.lower())


def _keys(noun: str, number: str) -> tuple[str, ...]:
    return (f"{noun}#{number}", f"{noun}#", f"any#{number}")


def _own(number: str) -> tuple[str, ...]:
    """Return the keys of a record's own number."""
    return (f"own#{number}", f"any#{number}")


@lru_cache(maxsize=10_000)
def _noun(word: str, first: bool = False) -> tuple[str | None, bool]:
    """Return what a noun means, and whether it is a compound with "number"; None for other words.

    Of a script without blanks the last noun of a run of signs counts, or the ``first`` one.
    """
    if _UNSPACED.match(word):
        plain = _UNSPACED_LABEL.sub("", word)
        patterns = ((noun, (rf"(?:{nouns})" if first else rf"(?:{nouns})$")) for noun, nouns in _NOUNS.items())
        match = re.match if first else re.search
        noun = next((noun for noun, pattern in patterns if match(pattern, plain)), None)
        return noun, plain != word
    noun = concept_of(word)
    if noun in _NOUNS:
        return noun, False
    compound = _COMPOUND.fullmatch(word)
    noun = concept_of(compound[1]) if compound else ""
    return (noun if noun in _NOUNS else None), True


def _numbers(text: str) -> Iterator[str]:
    return (number for number in re.findall(r"\d+", text) if not YEAR.fullmatch(number))


def _counts(text: str, end: int) -> bool:
    """Return whether the number that ends there counts something: a limit, an age, 3 boxes."""
    plural = _PLURAL.match(text, end)
    return (
        is_measured(text, end)
        or bool(_COUNTING.match(text, end))
        or (plural is not None and plural[1] not in _NOT_COUNTED)
    )


def _is_verb(text: str, match: re.Match[str], concept: str) -> bool:
    """Return whether the noun is a verb with a quantity, or a part of an expression such as "in case"."""
    before = _NOT_NOUN.search(text, max(0, match.start() - 12), match.start())
    return concept in _VERBS and before is not None and bool(_WORD_AFTER.match(text, match.end()))


def _noun_of_field(field: str) -> str | None:
    """Return what the numbers of a field number: customer_id; empty: the record itself; None: nothing."""
    parts = [part.lower() for part in _FIELD_PARTS.findall(field)]
    words = [part for part in parts if not _FIELD_LABEL.fullmatch(part)]
    if not words:
        return "" if parts else None
    compound = _COMPOUND.fullmatch(words[-1])
    noun = concept_of(compound[1] if compound else words[-1])
    if compound or len(words) < len(parts):
        return noun
    return noun if noun in _NOUNS and not words[-1].endswith("s") else None


def _numbers_of(value: JsonValue) -> Iterator[str]:
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, int) and not isinstance(each, bool) and each >= 0:
            yield str(each)
        elif isinstance(each, str) and (match := _ID.fullmatch(each.strip())):
            yield match[2]
