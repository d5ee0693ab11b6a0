"""Dates of a title block, in the formats of Quarto (https://quarto.org/docs/reference/dates.html)."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

_MONTHS: Mapping[str, str] = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
}
_DAYS: Mapping[str, str] = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
}
_LONG: Mapping[str, str] = {
    "en": "MMMM D, YYYY", "de": "D. MMMM YYYY", "fr": "D MMMM YYYY", "es": "D [de] MMMM [de] YYYY", "it": "D MMMM YYYY",
    "pt": "D [de] MMMM [de] YYYY", "ja": "YYYY[年]M[月]D[日]", "zh": "YYYY[年]M[月]D[日]", "ko": "YYYY[년] M[월] D[일]",
}  # fmt: skip
_STYLES: Mapping[str, str] = {"medium": "MMM D, YYYY", "short": "M/D/YY", "iso": "YYYY-MM-DD"}
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]\d{2}:\d{2}.{0,20})?\Z")
_PART = re.compile(r"\[([^\[\]]*)\]|YYYY|YY|MMMM|MMM|MM|M|dddd|ddd|DD|D")
_TODAY = ("today", "now", "last-modified")


def written(date: str, wanted: str, language: str, today: datetime.date) -> str:
    """Return a date in a format: ``full``, ``long``, ``medium``, ``short``, ``iso`` or a pattern (``D MMM YYYY``).

    What is not a date stays as it is. ``date`` may be ``today``; ``wanted`` is ``long`` when empty.
    """
    iso = _ISO.match(date)
    try:
        day = today if date in _TODAY else datetime.date(int(iso[1]), int(iso[2]), int(iso[3])) if iso else None
    except ValueError:
        day = None
    if day is None:
        return date
    code = language.lower().partition("-")[0]
    long = _LONG.get(code, _LONG["en"])
    pattern = f"dddd, {long}" if wanted == "full" else long if wanted in ("", "long") else _STYLES.get(wanted, wanted)
    months, days = (names.get(code, names["en"]).split() for names in (_MONTHS, _DAYS))
    month, weekday = months[day.month - 1], days[day.weekday()]
    parts = {
        "YYYY": f"{day.year:04}", "YY": f"{day.year % 100:02}",
        "MMMM": month, "MMM": month[:3], "MM": f"{day.month:02}",
        "M": str(day.month), "dddd": weekday, "ddd": weekday[:3], "DD": f"{day.day:02}", "D": str(day.day),
    }  # fmt: skip
    return _PART.sub(lambda part: part[1] if part[1] is not None else parts[part[0]], pattern)
