"""Numbers that are written as words: "twelve", "zwölf", "a dozen", "vingt-cinq", "двух", "十二".

Some of them are other words in another language ("sei", "once") or no numbers at all ("one of them"). These count as
numbers only before a noun of their own language that is counted.
"""
# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

_HUNDRED, _THOUSAND = 100, 1000
_DOZENS = frozenset({"dozen", "dutzend", "douzaine", "docena", "dozzina", "дюжина", "дюжину", "дюжины"})
_SCORE = 20
_FIRST_CENTURY = 13  #: that a year is said with
_Token = tuple[int, int, str]  #: start and end of a word, and the word in lower case


@dataclass(frozen=True)
class SpokenNumber:
    """A number in words, and where it is."""

    start: int
    end: int
    value: Decimal
    certain: bool  #: no other meaning is likely
    ordinal: bool = False


@dataclass(frozen=True)
class _Language:
    words: Mapping[str, Decimal]
    uncertain: frozenset[str]  #: words that mean other things, too
    joints: frozenset[str]  #: between the words of one number
    ordinals: Mapping[str, Decimal]
    counted: re.Pattern[str]  #: nouns before which an uncertain word is a number
    half: str = ""  #: what follows a whole number with a half
    thousand: str = ""  #: within a word, after the number of thousands and before the rest

    def value(self, word: str) -> Decimal | None:
        """Return the number that a word means; None for other words."""
        if word in self.words or not self.thousand or self.thousand not in word:
            return self.words.get(word)
        before, _, after = word.partition(self.thousand)
        many, rest = self.words.get(before), self.words.get(after.removeprefix("und")) if after else Decimal(0)
        return None if many is None or rest is None else many * _THOUSAND + rest

    def says(self, words: Collection[str]) -> bool:
        """Return whether one of the words is a number."""
        return any(self.value(word) is not None or word in self.ordinals for word in words)


def _numbered(words: str, start: int = 0, step: int = 1) -> dict[str, Decimal]:
    """Return the words with their numbers; forms of one number have a stroke between them."""
    return {
        form: Decimal(start + step * index) for index, forms in enumerate(words.split()) for form in forms.split("|")
    }


def _scales(hundred: str, thousand: str, million: str, billion: str = "") -> dict[str, Decimal]:
    scales = ((hundred, 2), (thousand, 3), (million, 6), (billion, 9))
    return {form: Decimal(10**power) for forms, power in scales for form in forms.split("|") if form}


def _nouns(nouns: str) -> re.Pattern[str]:
    return re.compile(rf"[\s-]+(?:{nouns})\b", re.IGNORECASE)


_CURRENCIES = "euros?|dollars?|cents?|francs?|franken|pesos?|yen|%|€|\\$|kg|km|cm|mm|gb|mb"
_ENGLISH = _Language(
    _numbered(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
    )
    | _numbered("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10)
    | _scales("hundred", "thousand", "million|millions", "billion|billions")
    | {"dozen": Decimal(12)},
    frozenset({"one", "zero", "millions", "billions"}),
    frozenset({"and", "a"}),
    _numbered(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth",
        1,
    ),
    _nouns(
        rf"{_CURRENCIES}|seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|times|floors?|stor(?:e?y|ies)|editions?|chapters?|"
        "sections?|generations?|centur(?:y|ies)|grades?|rounds?|versions?|levels?|percent|people|persons?|users?|customers?|rooms?|"
        "seats?|guests?|pages?|met(?:er|re)s?|kilomet(?:er|re)s?|kilograms?|grams?|lit(?:er|re)s?|megapixels?|degrees?"
    ),
    "and a half",
)
_GERMAN_UNITS = "ein zwei drei vier fünf sechs sieben acht neun"
_GERMAN_TENS = _numbered("zwanzig dreißig|dreissig vierzig fünfzig sechzig siebzig achtzig neunzig", 20, 10)


def _german() -> dict[str, Decimal]:
    units = _numbered(_GERMAN_UNITS, 1)
    below = {
        **_numbered(
            "null eins|ein|eine|einem|einen|einer|eines zwei|zwo drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn"
        ),
        **_GERMAN_TENS,
        **{f"{unit}und{ten}": value + tens for unit, value in units.items() for ten, tens in _GERMAN_TENS.items()},
    }
    hundreds = {"hundert": Decimal(100), **{f"{unit}hundert": value * 100 for unit, value in units.items()}}
    above = {
        f"{hundred}{joint}{word}": value + rest
        for hundred, value in hundreds.items()
        for word, rest in below.items()
        if rest
        for joint in ("", "und")
    }
    halves = {f"{unit}einhalb": value + Decimal("0.5") for unit, value in units.items()}
    return (
        below
        | hundreds
        | above
        | halves
        | {"anderthalb": Decimal("1.5"), "dutzend": Decimal(12)}
        | _scales("", "tausend", "million|millionen", "milliarde|milliarden")
    )


def _italian() -> dict[str, Decimal]:
    units = _numbered("uno due tre|tré quattro cinque sei sette otto nove", 1)
    tens = _numbered("venti trenta quaranta cinquanta sessanta settanta ottanta novanta", 20, 10)
    joined = {
        (ten[:-1] if unit[0] in "uo" else ten) + unit: value + number
        for ten, value in tens.items() for unit, number in units.items()
    }  # fmt: skip
    below = (
        _numbered(
            "zero uno|una|un due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove"
        )
        | tens
        | joined
    )
    hundreds = {"cento": Decimal(100), **{f"{unit}cento": value * 100 for unit, value in units.items() if value > 1}}
    above = {
        hundred + word: value + rest for hundred, value in hundreds.items() for word, rest in below.items() if rest
    }
    return (
        below
        | hundreds
        | above
        | {"dozzina": Decimal(12)}
        | _scales("", "mille|mila", "milione|milioni", "miliardo|miliardi")
    )


_GERMAN = _Language(
    _german(),
    frozenset(
        {"null", "eins", "ein", "eine", "einem", "einen", "einer", "eines", "elf", "acht", "sieben", "millionen"}
    ),
    frozenset({"und"}),
    {
        f"{stem}{ending}": value
        for stem, value in _numbered(
            "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft", 1
        ).items()
        for ending in ("e", "er", "en", "em", "es")
    },
    _nouns(
        rf"{_CURRENCIES}|sekunden?|minuten?|stunden?|tage?n?|nächten?|wochen?|monate?n?|jahre?n?|stock(?:werke?)?|etagen?|auflagen?|kapiteln?|"
        "jahrhunderts?|prozent|personen|leute|gäste|kunden|zimmer|plätze|seiten|metern?|kilometern?|kilogramm|gramm|litern?|grad|mal"
    ),
    thousand="tausend",
)
_FRENCH = _Language(
    _numbered(
        "zéro un|une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt|vingts"
    )
    | _numbered("trente quarante cinquante soixante", 30, 10)
    | {
        "quatre-vingt": Decimal(80),
        "quatre-vingts": Decimal(80),
        "septante": Decimal(70),
        "huitante": Decimal(80),
        "nonante": Decimal(90),
        "douzaine": Decimal(12),
    }
    | _scales("cent|cents", "mille", "million|millions", "milliard|milliards"),
    frozenset({"zéro", "un", "une", "sept", "neuf", "dix", "cent", "cents", "mille", "millions"}),
    frozenset({"et"}),
    _numbered(
        "premier|première deuxième|second|seconde troisième quatrième cinquième sixième septième huitième neuvième dixième",
        1,
    ),
    _nouns(
        rf"{_CURRENCIES}|secondes?|minutes?|heures?|jours?|nuits?|semaines?|mois|ans?|années?|étages?|éditions?|chapitres?|siècles?|fois|"
        "personnes?|clients?|pages?|mètres?|kilomètres?|kilos?|grammes?|litres?|degrés?|chambres?|places?"
    ),
)
_SPANISH = _Language(
    _numbered(
        "cero uno|un|una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis|dieciseis diecisiete dieciocho diecinueve veinte veintiuno|veintiún|veintiuna veintidós|veintidos veintitrés|veintitres veinticuatro veinticinco veintiséis|veintiseis veintisiete veintiocho veintinueve treinta"
    )
    | _numbered("cuarenta cincuenta sesenta setenta ochenta noventa cien|ciento", 40, 10)
    | _numbered(
        "doscientos|doscientas trescientos|trescientas cuatrocientos|cuatrocientas quinientos|quinientas seiscientos|seiscientas setecientos|setecientas ochocientos|ochocientas novecientos|novecientas",
        200,
        100,
    )
    | {"docena": Decimal(12)}
    | _scales("", "mil", "millón|millones"),
    frozenset({"cero", "uno", "un", "una", "dos", "once", "mil", "millones"}),
    frozenset({"y"}),
    _numbered(
        "primer|primero|primera segundo|segunda tercer|tercero|tercera cuarto|cuarta quinto|quinta sexto|sexta séptimo|séptima octavo|octava noveno|novena décimo|décima",
        1,
    ),
    _nouns(
        rf"{_CURRENCIES}|segundos?|minutos?|horas?|días?|noches?|semanas?|mes(?:es)?|años?|pisos?|plantas?|ediciones|edición|capítulos?|siglos?|"
        "veces|personas?|clientes?|páginas?|metros?|kilómetros?|kilos?|gramos?|litros?|grados?|habitaciones|plazas?"
    ),
)
_ITALIAN = _Language(
    _italian(),
    frozenset({"zero", "uno", "una", "un", "due", "tre", "sei", "otto", "nove", "sette", "mille", "cento", "milioni"}),
    frozenset({"e"}),
    _numbered("primo|prima secondo|seconda terzo|terza quarto|quarta quinto|quinta sesto|sesta", 1),
    _nouns(
        rf"{_CURRENCIES}|secondi|minut[oi]|or[ae]|giorn[oi]|nott[ei]|settiman[ae]|mes[ei]|ann[oi]|pian[oi]|edizion[ei]|capitol[oi]|secol[oi]|"
        "volt[ae]|person[ae]|client[ei]|pagin[ae]|metr[oi]|chilometr[oi]|chil[oi]|gramm[oi]|litr[oi]|grad[oi]|camer[ae]|post[oi]"
    ),
    thousand="mila",
)
_RUSSIAN_WORDS = (
    "ноль один|одна|одно|одного|одной два|две|двух|двум|двумя три|трёх|трех|трём|трем|тремя четыре|четырёх|четырех|четырьмя пять|пяти|пятью "
    "шесть|шести|шестью семь|семи|семью восемь|восьми девять|девяти|девятью десять|десяти|десятью одиннадцать|одиннадцати двенадцать|двенадцати "
    "тринадцать|тринадцати четырнадцать|четырнадцати пятнадцать|пятнадцати шестнадцать|шестнадцати семнадцать|семнадцати восемнадцать|восемнадцати "
    "девятнадцать|девятнадцати двадцать|двадцати"
)
_RUSSIAN = _Language(
    _numbered(_RUSSIAN_WORDS)
    | _numbered(
        "тридцать|тридцати сорок|сорока пятьдесят|пятидесяти шестьдесят|шестидесяти семьдесят|семидесяти восемьдесят|восьмидесяти девяносто|девяноста сто|ста",
        30,
        10,
    )
    | _numbered(
        "двести|двухсот триста|трёхсот|трехсот четыреста|четырёхсот|четырехсот пятьсот|пятисот шестьсот|шестисот семьсот|семисот восемьсот|восьмисот девятьсот|девятисот",
        200,
        100,
    )
    | {
        "дюжина": Decimal(12),
        "дюжину": Decimal(12),
        "дюжины": Decimal(12),
        "полтора": Decimal("1.5"),
        "полторы": Decimal("1.5"),
    }
    | _scales("", "тысяча|тысячи|тысяч|тысячу", "миллион|миллиона|миллионов", "миллиард|миллиарда|миллиардов"),
    frozenset({"ноль", "один", "одна", "одно", "одного", "одной", "три", "тысячи", "тысяч", "миллионов"}),
    frozenset(),
    {
        f"{stem}{ending}": value
        for stem, value in _numbered("перв втор треть четвёрт|четверт пят шест седьм восьм девят десят", 1).items()
        for ending in ("ый", "ой", "ий", "ая", "ом", "ем", "го", "ого", "его", "ую", "ю")
    },
    _nouns(
        r"руб\w*|евро|доллар\w*|процент\w*|секунд\w*|минут\w*|час\w*|дн\w+|день|ноч\w*|недел\w*|месяц\w*|лет|год\w*|этаж\w*|издани\w*|глав\w*|"
        r"век\w*|раза?|человек\w*|клиент\w*|страниц\w*|метр\w*|километр\w*|кг|км|грамм\w*|литр\w*|градус\w*|номер\w*|мест\w*"
    ),
)
_LANGUAGES = (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _RUSSIAN)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_PART = re.compile(r"[^\W\d_]+")
_BETWEEN = re.compile(r"[ \u00a0-]")
_AFTER_DIGITS = re.compile(r"\d\s?$")
_SCALES = frozenset(Decimal(10**power) for power in (2, 3, 6, 9))
_HALF_DOZEN = re.compile(r"\bhalf a dozen\b", re.IGNORECASE)

#: Han numerals before what they count; Thai ones likewise.
_HAN_DIGITS = {
    "〇": 0,
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "億": 10**8, "亿": 10**8}
_HAN = re.compile(
    r"(?<![\d〇零一二两兩三四五六七八九十百千万萬億亿第])([〇零一二两兩三四五六七八九十百千万萬億亿]+)(?=\s?"
    r"(?:[年月日時时分秒人円元圆階层層楼歳岁回次枚本台泊週周間间名位倍度天晚章条條頁页号號割]|個|个月|个小时|小时|时间|分钟|か月|ヶ月|カ月|パーセント|メートル|キロ|グラム|公里|公斤|米|万))"
)
_THAI_DIGITS = {
    "ศูนย์": 0,
    "หนึ่ง": 1,
    "เอ็ด": 1,
    "สอง": 2,
    "ยี่": 2,
    "สาม": 3,
    "สี่": 4,
    "ห้า": 5,
    "หก": 6,
    "เจ็ด": 7,
    "แปด": 8,
    "เก้า": 9,
}
_THAI_SCALES = {"สิบ": 10, "ร้อย": 100, "พัน": 1000, "หมื่น": 10**4, "แสน": 10**5, "ล้าน": 10**6}
_THAI_PIECE = "|".join(sorted([*_THAI_DIGITS, *_THAI_SCALES], key=len, reverse=True))
_THAI = re.compile(
    rf"((?:{_THAI_PIECE})+)(?=\s?(?:ปี|เดือน|วัน|สัปดาห์|ชั่วโมง|นาที|วินาที|คน|บาท|ชั้น|ครั้ง|เมตร|กิโล|กรัม|ห้อง|คืน|เปอร์เซ็นต์|ชิ้น|หน้า|องศา))"
)
_THAI_PIECES = re.compile(_THAI_PIECE)


def spoken_numbers(text: str) -> list[SpokenNumber]:
    """Return the numbers that the text says in words, in order, without overlaps."""
    every = [*_of_unspaced(text)]
    every += [
        SpokenNumber(match.start(), match.end(), Decimal(6), certain=True) for match in _HALF_DOZEN.finditer(text)
    ]
    words = {word.lower() for word in _PART.findall(text)}
    for language in _LANGUAGES:
        if language.says(words):
            every += _spoken(text, language)
    taken: list[SpokenNumber] = []
    for number in sorted(every, key=lambda each: (each.start, not each.certain, -each.end)):
        if not taken or number.start >= taken[-1].end:
            taken.append(number)
    return taken


def _of_unspaced(text: str) -> Iterator[SpokenNumber]:
    for match in _HAN.finditer(text):
        signs = match[1]
        if all(sign in _HAN_DIGITS for sign in signs) and len(signs) > 1:  # a year, sign by sign
            value: int | None = int("".join(str(_HAN_DIGITS[sign]) for sign in signs))
        else:
            value = _composed([_HAN_DIGITS.get(sign, -_HAN_SCALES.get(sign, 0)) for sign in signs])
        if value is not None:
            yield SpokenNumber(match.start(1), match.end(1), Decimal(value), certain=value > 1)
    for match in _THAI.finditer(text):
        pieces = [_THAI_DIGITS.get(piece, -_THAI_SCALES.get(piece, 0)) for piece in _THAI_PIECES.findall(match[1])]
        value = _composed(pieces)
        if value is not None:
            yield SpokenNumber(match.start(1), match.end(1), Decimal(value), certain=value > 1)


def _composed(pieces: list[int]) -> int | None:
    """Return the number of digits and scales (negative) in a row; scales of ten thousand multiply all before them."""
    total = part = digit = 0
    for piece in pieces:
        if piece >= 0:
            digit = piece
        elif -piece < 10**4:
            part += (digit or 1) * -piece
            digit = 0
        else:
            total += (part + digit or 1) * -piece
            part = digit = 0
    return total + part + digit


def _spoken(text: str, language: _Language) -> Iterator[SpokenNumber]:
    """Yield the numbers in the words of one language."""
    tokens = list(_tokens(text, language))
    at = 0
    while at < len(tokens):
        start, end, word = tokens[at]
        if language.value(word) is None:
            if word in language.ordinals:
                counts = bool(language.counted.match(text, end))
                yield SpokenNumber(start, end, language.ordinals[word], counts, ordinal=True)
            at += 1
            continue
        after, value, certain = _longest(text, tokens, at, language)
        if _AFTER_DIGITS.search(text, max(0, start - 2), start) and language.value(word) in _SCALES:
            at = after  # 2.5 million is written in digits
            continue
        if after < len(tokens) and _FIRST_CENTURY <= value <= _SCORE and _adjacent(text, tokens, after):
            following, years, _ = (
                _longest(text, tokens, after, language) if language.value(tokens[after][2]) else (0, 0, 0)
            )
            if following and years > 9 and years < _HUNDRED:
                after, value = following, value * _HUNDRED + years  # nineteen eighty-four
        end = tokens[after - 1][1]
        if language.half and text[end : end + len(language.half) + 1].lower() == f" {language.half}":
            end += len(language.half) + 1
            value, certain = value + Decimal("0.5"), True
        yield SpokenNumber(start, end, value, certain or bool(language.counted.match(text, end)))
        at = after


def _adjacent(text: str, tokens: Sequence[_Token], number: int) -> bool:
    """Return whether nothing but a blank or a hyphen is between a word and the one before it."""
    return _BETWEEN.fullmatch(text[tokens[number - 1][1] : tokens[number][0]]) is not None


def _tokens(text: str, language: _Language) -> Iterator[tuple[int, int, str]]:
    """Yield the words; a word with a hyphen is one if the language has it, else its parts."""
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if "-" not in word or word in language.words:
            yield match.start(), match.end(), word
        else:
            yield from _hyphenated(match.start(), word, language)


def _hyphenated(start: int, word: str, language: _Language) -> Iterator[tuple[int, int, str]]:
    parts = list(_PART.finditer(word))
    at = 0
    while at < len(parts):
        pair = word[parts[at].start() : parts[at + 1].end()] if at + 1 < len(parts) else ""
        last = at + 1 if pair in language.words else at
        begin, end = parts[at].start(), parts[last].end()
        yield start + begin, start + end, word[begin:end]
        at = last + 1


def _longest(text: str, tokens: Sequence[_Token], at: int, language: _Language) -> tuple[int, Decimal, bool]:
    """Return the word after the number that begins here, its value, and whether it can only be a number."""
    word = tokens[at][2]
    sums = _added(Decimal(0), Decimal(0), word, language)
    assert sums is not None
    (total, current), after, certain = sums, at + 1, word not in language.uncertain
    while after < len(tokens):
        following = after
        joint = tokens[following][2] in language.joints and following + 1 < len(tokens)
        following += joint
        word = tokens[following][2]
        if not all(_adjacent(text, tokens, index) for index in range(after, following + 1)):
            break
        sums = _added(total, current, word, language)
        small = joint and current < _SCORE and (language.value(word) or 0) < _HUNDRED  # two and three
        if sums is None or small:
            break
        (total, current), after, certain = sums, following + 1, True
    return after, total + current, certain


def _added(total: Decimal, current: Decimal, word: str, language: _Language) -> tuple[Decimal, Decimal] | None:
    """Return the sums with one more word, thousands and the rest; None where the word begins another number."""
    value = language.value(word)
    if value is None:
        return None
    if word in _DOZENS:
        return (total, (current or 1) * value) if current < _HUNDRED else None
    if value >= _THOUSAND:
        return total + (current or 1) * value, Decimal(0)
    if value == _HUNDRED and 0 < current < _SCORE:
        return total, current * value
    if not current:
        return total, value
    tens = current % _HUNDRED
    fits = (
        (tens == 0 and value < _HUNDRED)
        or (tens >= _SCORE and tens % 10 == 0 and value < 10)
        or (tens in (60, 80) and value < _SCORE)
    )
    return (total, current + value) if fits and value else None
