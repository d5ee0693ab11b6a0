"""Identifiers that their form or their label makes certain: standards, ISSN, plates, flights, part and phone numbers."""
# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import re
from collections.abc import Iterator

from services.search.queries.quantities import CAPITAL_UNITS, UNNAMING, YEAR, is_measured

#: Bodies whose standards are numbered; in lower case only those that are no words.
_BODIES = (
    "ISO|IEC|IEEE|DIN|ASTM|ANSI|ASME|JIS|GOST|ГОСТ|RFC|PEP|NIST|FIPS|ETSI|ITU|NFPA|IFRS|IAS|ÖNORM|UNE|UNI|BS|EN|NF|UL|SAE|CWE|"
    "ECMA"
)
_LOWER_BODIES = "iso|iec|ieee|astm|ansi|rfc|pep|nist|fips|ecma|гост|gost|Iso|Гост|Rfc|Gost"
_STANDARD = re.compile(
    rf"(?<![\w./-])((?:(?:{_BODIES}|{_LOWER_BODIES})[\s/-]?)+)(?:(?:TS|TR|SP|Std|R|Р)\.?[\s-])?"
    r"(\d{1,6}(?:\.\d{1,3})*[a-z]{0,2})((?:-\d{1,3}(?!\d))?)(?:[:-](?:19|20)\d\d)?(?![^\W_]|[.:/-]\d)"
)
_ISSN = re.compile(
    r"(?<![\w./:-])(?P<label>e?-?ISSN(?:-L)?[\s:]{1,3})?(\d{4})-(\d{3}[\dXx])(?![\w]|-\w)", re.IGNORECASE
)
_CONSONANTS = "BCDFGHJ-NPR-TV-Z"
_CYRILLIC = "\u0410-\u042f"
_PLATE_FORMS = (
    r"(?!USB|CD|DVD)[A-ZÄÖÜ]{1,3}-[A-ZÄÖÜ]{1,2}[\s-]?\d{2,4}[EH]?",  # Germany
    r"[A-Z]{2}\d{2} [A-Z]{3}",  # United Kingdom
    r"[A-Z]{2} ?\d{3} ?[A-Z]{2}",  # France, Italy, Argentina, Georgia
    rf"(?!(?:19|20)\d\d)\d{{4}} ?[{_CONSONANTS}]{{3}}",  # Spain
    r"[A-Z]{2}-\d{2}-[A-Z]{2}|[A-Z]{2}-[A-Z]{2}-\d{2}|[A-Z]{2}-\d{2}-\d{2}|\d{2}-[A-Z]{2}-[A-Z]{2}|\d{2}-\d{2}-[A-Z]{2}"
    r"|\d{2}-[A-Z]{3}-\d|\d-[A-Z]{3}-\d{2}|\d{2}-[A-Z]{2}-\d{2}",  # Netherlands, Portugal
    r"[A-Z]{3} \d{2}[A-Z]",  # Sweden
    r"[A-Z]{2,3} (?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{4,5}|[A-Z]{1,2} \d{2,3} [A-Z]{3}",  # Poland, Romania
    r"\d[A-Z][A-Z0-9] \d{4}",  # Czechia
    r"\d{2} (?:[A-Z] \d{4}|[A-Z]{2} \d{3,4}|[A-Z]{3} \d{2,3})",  # Turkey
    r"[A-Z]{2} \d{1,2} [A-Z]{1,3} \d{4}",  # India
    rf"[A-Z{_CYRILLIC}] ?\d{{3}} ?[A-Z{_CYRILLIC}]{{2}} ?\d{{2,3}}|[{_CYRILLIC}]{{1,2}} ?\d{{4}} ?[{_CYRILLIC}]{{2}}",  # Russia, Ukraine, Bulgaria
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼] ?[A-Z][ ·-]?(?=[A-Z]*\d)[A-Z0-9]{5,6}",  # China
    r"[\u4e00-\u9fff]{1,4} ?\d{2,3} ?[\u3041-\u3093] ?\d{2}[- ]?\d{2}",  # Japan
    r"\d{2,3} ?[가-힣] ?\d{4}",  # South Korea
    r"\d ?[ก-ฮ]{2} ?\d{1,4}",  # Thailand
)
_PLATE = re.compile(rf"(?<![\w.-])(?:{'|'.join(_PLATE_FORMS)})(?![\w]|[-.,]\w)")
#: Capitals that make an amount of what looks like a plate; between letters CE is no era, and PS no horsepower.
_PLATE_UNITS = CAPITAL_UNITS - {"AD", "BC", "CE", "HP", "PS"}
_PLATE_LABEL = (
    r"(?:number\s|licen[cs]e\s|registration\s|vehicle\s)?plates?|registration|kennzeichen|nummernschild|matrículas?|placas?|"
    r"immatriculation|госномер\w{0,2}|номерной знак|ナンバー"
)
_PART_LABEL = (
    r"(?:part|article|item|model|product|catalog(?:ue)?|order|serial|tracking|batch|lot|case|ticket|invoice|contract|policy|"
    r"booking|reference|ref|passport|member|customer|vat|tax)[\s.]{0,2}(?:numbers?|no|nr|code|id|#)|sku|p/n|s/n|"
    r"(?:artikel|teile|serien|modell|bestell|auftrags|rechnungs|vertrags|kunden|sendungs|chargen)-?(?:nummer|nr)|ust-?id(?:-?nr)?|"
    r"(?:número|n\.?º|referencia) de (?:pieza|serie|artículo|pedido|factura|contrato|cliente|modelo)|referencia|"
    r"артикул\w{0,2}|серийный номер|номер (?:детали|заказа|договора|сч[её]та|клиента)|"
    r"品番|型番|商品番号|製造番号|部品番号|注文番号|型号|订单号"
)
_PHONE_LABEL = r"(?:tele)?phone(?:\snumber)?|tel|call|dial|fax|mobile|telefon(?:nummer)?|rufnummer|teléfono|llamar al|телефон\w{0,2}|電話番号|電話"
_FLIGHT_LABEL = r"flights?|flugs?|vuelos?|vols?|volo|рейс\w{0,3}|便名?|フライト"
_BETWEEN = r"(?:\s?(?:is|ist|es|numbers?|no|nr|nummer|number|номер|número|n\.?º|№))?[\s.:#№]{0,3}"


def _after(labels: str, value: str) -> re.Pattern[str]:
    """Return the pattern of a value after one of the labels."""
    return re.compile(rf"(?<![A-Za-z0-9À-ɏЀ-ӿ])(?i:{labels}){_BETWEEN}(?P<value>{value})(?![^\W_]|[-./:]\w)")


_LABELLED = (
    _after(
        _PLATE_LABEL,
        r"(?=[A-Za-z\u0400-\u04ff -]{0,4}\d)[A-Z\u0410-\u042f\d]{1,4}(?:[ -]?[A-Z\u0410-\u042f\d]{1,4}){1,3}",
    ),
    _after(_PART_LABEL, r"(?=[A-Za-z\u0400-\u04ff./-]{0,12}\d)[^\W_]+(?:[-./][^\W_]+)*"),
    _after(_PHONE_LABEL, r"(?=(?:[+( )/-]{0,2}\d){6})\+?\(?\d{2,5}\)?(?:[ /-]?\d{2,5}){1,4}"),
    _after(_FLIGHT_LABEL, r"(?:[A-Z]{2}|[A-Z]\d|\d[A-Z])[ -]?\d{1,4}|[a-z]{2}\d{2,4}"),
)
#: Of a record: the same without a label.
_FLIGHT = re.compile(r"(?<![\w./-])(?:[A-Z]{2}|[A-Z]\d|\d[A-Z]) (\d{1,4})(?![^\W_]|[-.,:/]\d)")
_SPACED_PLATE = re.compile(r"(?<![\w.-])[A-ZÄÖÜ]{1,3} [A-ZÄÖÜ]{1,2} \d{1,4}[EH]?(?![\w]|-\w)")
_SHORT_PHONE = re.compile(r"(?<![\w./:-])\d{3,5}[ -]\d{4}(?![\w]|[-.,:/ ]\d)")
_DECIMAL = re.compile(r"\d+[.,]\d+")
_LETTERS = re.compile(r"[^\W\d_]+")


def identifiers(text: str, keys: set[str], shouted: bool = False) -> str:
    """Add the keys of the identifiers in a question, and return the rest of it.

    ``shouted``: the question is in capitals.
    """

    def taken(match: re.Match[str], key: str | None) -> str:
        if key is None:
            return match[0]
        keys.add(key)
        return " ; "

    text = _STANDARD.sub(lambda match: taken(match, _asked_standard(match, shouted)), text)
    text = _ISSN.sub(lambda match: taken(match, _plain(match[2] + match[3]) if _is_issn(match) else None), text)
    for pattern in _LABELLED:
        text = pattern.sub(lambda match: taken(match, _value(match["value"])), text)
    if shouted:
        return text
    return _PLATE.sub(lambda match: taken(match, _plain(match[0]) if _is_plate(match) else None), text)


def identifier_keys(text: str) -> Iterator[str]:
    """Yield the keys of the identifiers that a record holds, with and without a label."""
    for match in _STANDARD.finditer(text):
        yield from _standard(match)
    for pattern in (_PLATE, _SPACED_PLATE, _FLIGHT, _SHORT_PHONE):
        yield from (_plain(match[0]) for match in pattern.finditer(text))
    for pattern in _LABELLED:
        yield from filter(None, (_value(match["value"]) for match in pattern.finditer(text)))


def _is_plate(match: re.Match[str]) -> bool:
    """Return whether what looks like a plate is not an amount, such as 1500 CFM or 20 USD 100."""
    return not is_measured(match.string, match.end()) and _PLATE_UNITS.isdisjoint(_LETTERS.findall(match[0]))


def _asked_standard(match: re.Match[str], shouted: bool) -> str | None:
    """Return the key of a standard; None where its body is a word that is written in capitals, or counts."""
    word = len(match[1].strip(" /-")) < 3 and (shouted or len(match[2]) < 2)
    return None if word or is_measured(match.string, match.end()) else _standard(match)[0]


def _standard(match: re.Match[str]) -> list[str]:
    """Return the keys of a standard: with its part, and without. Of several bodies, ISO or the last one names it."""
    bodies = re.findall(r"[^\W\d_]+", match[1].lower())
    body = "iso" if "iso" in bodies else bodies[-1].replace("гост", "gost")
    number = re.sub(r"\W", "", match[2])
    part = match[3].replace("-", "")
    return [f"{body}{number}-{part}", f"{body}{number}"] if part else [f"{body}{number}"]


def _is_issn(match: re.Match[str]) -> bool:
    """Return whether eight digits are labelled as an ISSN, or have its check digit and are no span of years."""
    if match["label"]:
        return True
    digits = match[2] + match[3].upper()
    if YEAR.fullmatch(match[2]) and YEAR.fullmatch(match[3]):
        return False
    total = sum(weight * int(digit) for weight, digit in zip(range(8, 1, -1), digits[:7], strict=True))
    return (total + (10 if digits[7] == "X" else int(digits[7]))) % 11 == 0


def _value(text: str) -> str | None:
    """Return the key of a labelled value; None for a plain number, which its noun names."""
    preposition = text[:2].lower() in UNNAMING and not text[2:3].isalnum()
    return None if text.isdigit() or _DECIMAL.fullmatch(text) or preposition else _plain(text)


def _plain(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()
