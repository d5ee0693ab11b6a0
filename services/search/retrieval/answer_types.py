"""What a question asks for, as far as its words tell: a price, a duration, a number, a name; and whether a text has one.

A text that is about the topic but holds nothing of that kind does not answer. In doubt a text is taken to have one.
"""
# ruff: noqa: E501 - lists of words are easier to read unwrapped

from __future__ import annotations

import re

from services.search.number_words import spoken_numbers

_AMOUNT = (
    r"(?:\d|%|\b(?:half|single|both|several|no|none|unlimited|percent|daily|weekly|monthly|yearly|always|never|every|each|all|full|"
    r"free|keine?[nrms]?|alle|beide|jede[nrms]?|aucune?|toutes?|tous|les deux|chaque|todos|todas|ambos|ningun[oa]|cada|tutt[ie]|nessun[oa]|"
    r"ogni|все|обе|оба|кажд\w+|нет)\b|全|毎|每|各|両)"
)
_TIME_UNIT = (
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|decades?|centur\w+|sekunden?|minuten?|stunden?|tage?n?|"
    r"wochen?|monate?n?|jahre?n?|secondes?|heures?|jours?|semaines?|mois|ans?|années?|segundos?|minutos?|horas?|días?|semanas?|"
    r"mes(?:es)?|años?|secondi|minuti|ore|giorni|settimane|mesi|anni|секунд\w*|минут\w*|час\w*|дн\w+|день|недел\w+|месяц\w*|лет|год\w*)"
)
_MOMENT = (
    r"(?:\d|noon|midnight|morning|evening|night|today|tomorrow|daily|always|never|once|now|immediately|(?:mon|tues|wednes|thurs|"
    r"fri|satur|sun)days?|january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|"
    r"autumn|winter|weekends?|before|after|until|till|since|during|when|as soon|from|by|while|period|"
    r"mittag|mitternacht|morgen|abend|heute|täglich|immer|montag\w*|dienstag\w*|mittwoch\w*|donnerstag\w*|freitag\w*|samstag\w*|"
    r"sonntag\w*|januar|februar|märz|mai|juni|juli|oktober|dezember|frühling|sommer|herbst|vor|nach|bis|seit|während|ab|sobald|wenn|"
    r"avant|après|depuis|pendant|jusqu\w*|dès|midi|minuit|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|"
    r"antes|después|desde|hasta|durante|lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|prima|dopo|fino|durante|quando|"
    r"matin\w*|soirs?|nuits?|été|hiver|printemps|automne|toujours|jamais|chaque|janvier|février|mars|avril|juin|juillet|août|septembre|"
    r"octobre|novembre|décembre|mañanas?|tardes?|noches?|verano|invierno|primavera|otoño|siempre|nunca|cada|enero|febrero|marzo|abril|"
    r"mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|luned\w+|marted\w+|mercoled\w+|gioved\w+|venerd\w+|sabat\w+|"
    r"domenic\w+|mattin\w+|sera|notte|estate|inverno|autunno|sempre|mai|ogni|gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|"
    r"ottobre|dicembre|понедельник\w*|вторник\w*|сред[ауы]\w*|четверг\w*|пятниц\w*|суббот\w*|воскресень\w*|январ\w+|феврал\w+|"
    r"марта?|апрел\w+|ма[яй]|июн\w|июл\w|август\w*|сентябр\w+|октябр\w+|ноябр\w+|декабр\w+|утр\w+|веч[ео]р\w*|ноч\w+|полдень|"
    r"полночь|сегодня|завтра|ежедневно|всегда|никогда|после|до|во время|летом|зимой|весной|осенью|перед|кажд\w+|сразу|пока)"
)
#: When something began or was made: a year, a month or a span of time; neither opening hours nor another number.
_PAST = (
    r"(?:\b(?:1\d{3}|20\d\d)(?:s|er)?\b(?![\s-]?(?:[ckm]?m²?|[km]?g|[cm]?l|m?ah|[gmt]b|k?wh?|hz|eur|chf|usd|euros?|francs?|dollars?|"
    r"met(?:er|re)s?|people|persons?|rooms?)\b)|['’]\d\ds?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2}\b|"
    r"\b(?:centur\w+|decade\w*|ago|since|yesterday|today|recently|newly|last|war|months?|years?|weeks?|spring|summer|autumn|winter|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|"
    r"neunzehnhundert\w*|jahr\w*|vor|seit|gestern|heute|kürzlich|neulich|letzte\w*|krieg\w*|monat\w*|woche\w*|januar|februar|märz|mai|juni|juli|oktober|"
    r"dezember|siècle\w*|il y a|depuis|hier|ans?|année\w*|mois|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|"
    r"décembre|siglo\w*|hace|desde|ayer|años?|mes\w*|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|"
    r"diciembre)\b)"
)
_PRICE = (
    r"(?:[€$£¥₽]|\b(?:euros?|eur|dollars?|usd|pounds?|gbp|francs?|chf|franken|rappen|cents?|yen|roubles?|rubles?|pesos?|kronen|"
    r"free|gratis|kostenlos\w*|kostenfrei|umsonst|gratuit\w*|gratuito|included|inklusive|inbegriffen|compris\w*|"
    r"charges?|fees?|pric\w+|percent|%|евро|доллар\w*|франк\w*|"
    r"бесплатн\w*)\b|руб\w*|円|元|ユーロ|ドル|フラン|ポンド|ウォン|無料|免费|免費|ยูโร|บาท|ดอลลาร์|ฟรี|%)"
)
_WEIGHT = r"(?:\d\s?(?:kg|g|mg|t|lbs?|oz)\b|\b(?:grams?|gramm|kilo\w*|pounds?|ounces?|tons?|tonnes?|tonnen|grammes?|gramos)\b)"
_LENGTH = (
    r"(?:\d\s?(?:mm|cm|m|km|ft|in)\b|\"|\b(?:inch\w*|zoll|feet|foot|yards?|miles?|met(?:er|re)s?n?|kilomet\w+|"
    r"centimet\w+|zentimeter|millimet\w+|minutes?|hours?|minuten|stunden|seats?|people|persons?|rooms?|square|gb|mb|tb|"
    r"mètres?|metros?)\b)"
)
_PERSON_OR_NAME = (
    r"(?:(?<![.!?:\n])\s(?-i:[A-ZÀ-Þ])\w+|\b(?:managers?|owners?|directors?|employees?|staff|teams?|famil\w+|people|persons?|you|we|"
    r"your|our|everyone|anyone|nobody|customers?|users?|guests?|admin\w*|compan\w+|boss|chief|heads?|department|council|committee|"
    r"free|children|adults|students|members?|doctors?)\b)"
)

#: A kind of answer: questions that request it, and a pattern that texts with such an answer match.
_KINDS = [
    (
        r"\b(?:how much (?:does|do|did|is|are|was|were|will|would|must|should)\b.{0,60}\b(?:cost|pay|charged?)|how much (?:is|are)\b|"
        r"(?:what|how much) (?:does|do|did|would|will)\b.{0,80}\bcosts?\b|what is the (?:price|cost|fee|fare|rent|charge)|"
        r"(?:price|cost|fee) of|was kostet|was kosten|wie viel kostet|wie teuer|preis (?:von|für)|combien co[uû]te|quel est le prix|"
        r"cuánto cuesta|cuál es el precio|quanto costa|сколько стоит)\b|いくら|多少钱",
        _PRICE,
    ),
    (
        r"\b(?:how heavy|how much (?:does|do|did).{0,60}weigh|what (?:is|was) the weight|wie schwer|wie viel wiegt|quel poids|combien pèse|cuánto pesa)\b",
        _WEIGHT,
    ),
    (
        r"\b(?:how (?:big|large|high|tall|wide|deep|thick|far|small)|what (?:is|was) the (?:size|height|width|length|depth|distance) of|"
        r"wie (?:groß|hoch|breit|tief|weit)|quelle (?:taille|hauteur|distance))\b",
        rf"(?:{_LENGTH}|{_AMOUNT})",
    ),
    (
        r"\b(?:how long (?:does|do|did|is|are|was|were|will|can|may|should|must|have|has)|for how long|how many (?:seconds|minutes|"
        r"hours|days|weeks|months|years)|wie lange|wie viele (?:tage|stunden|wochen|monate|jahre)|combien de (?:temps|jours|mois)|"
        r"cuánto tiempo|cuántos (?:días|meses|años)|quanto tempo|как долго|сколько (?:дней|лет|времени))\b",
        rf"(?:\b{_TIME_UNIT}\b|until|bis|jusqu|hasta|fino|до\b|[日月年]|時間|週)",
    ),
    (
        r"\b(?:how many|how much|what (?:share|percentage|amount|number)|how (?:often|old)|wie viele?|wie oft|wie alt|wieviele?|combien|"
        r"cuánt[oa]s?|quant[iaeo]|сколько)\b|何人|何個|几个|多少",
        _AMOUNT,
    ),
    (
        r"^\W*(?:and |und )?(?:(?:when|in (?:what|which) year) (?:was|were)\b.{1,80}\b(?:built|founded|established|opened|released|launched|"
        r"introduced|invented|published|written|discovered|born|created|made|constructed|completed|renovated)|"
        r"(?:wann|in welchem jahr) wurden?\b.{1,80}\b(?:gebaut|erbaut|gegründet|eröffnet|veröffentlicht|eingeführt|erfunden|geschrieben|"
        r"entdeckt|geboren|hergestellt|renoviert)|"
        r"(?:quand|en quelle année) (?:a été|ont été|fut|est)\b.{1,80}\b(?:construit|fondé|ouvert|publié|inventé|écrit|créé|né)\w*|"
        r"(?:cuándo|en qué año) (?:fue|fueron|se)\b.{1,80}\b(?:constru|fund|inaugur|public|invent|escri|cre)\w+)\b",
        _PAST,
    ),
    (
        r"^\W*(?:and |und )?(?:when|at what time|what time|since when|until when|by when|from when|until what time|by what time|on which days?|in which "
        r"(?:months?|years?)|in what year|how late|wann|ab wann|seit wann|bis wann|um wie viel uhr|quand|à quelle heure|cuándo|"
        r"a qué hora|quando|a che ora|когда)\b",
        rf"(?:{_MOMENT}|\b{_TIME_UNIT}\b|前|後|[日月年時])",
    ),
    (
        r"^\W*(?:who|whom|whose)\b",
        _PERSON_OR_NAME,
    ),
    (
        r"\b(?:(?:tele)?phone number|telefonnummer|numéro de téléphone|número de teléfono|номер телефона)\b",
        r"\d(?:[\s()/-]?\d){5}",
    ),
    (r"\b(?:e-?mail address|mail address|e-?mail-?adresse|adresse e-?mail)\b", r"@"),
    (r"\b(?:which|what) (?:website|web address|url)\b", r"(?:www\.|https?:|\w\.(?:com|org|net|de|ch|io)\b)"),
]
#: Patterns that numbers in words match, too, and the smallest such number: one above a thousand names a year.
_SPOKEN = {_AMOUNT: 0, rf"(?:{_LENGTH}|{_AMOUNT})": 0, _PAST: 1000}
_COMPILED = [
    (re.compile(asks, re.IGNORECASE), re.compile(holds, re.IGNORECASE), _SPOKEN.get(holds)) for asks, holds in _KINDS
]


def lacks_answer(question: str, text: str) -> bool:
    """Return whether the text surely holds nothing of the kind that the question requests."""
    for asks, holds, least in _COMPILED:
        if asks.search(question):
            in_words = least is not None and any(number.value >= least for number in spoken_numbers(text))
            return holds.search(text) is None and not in_words
    return False
