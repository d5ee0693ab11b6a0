"""Documents with instructions: what the code comes to has to stand in the message, and the answer in the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class DocumentTask:
    name: str
    markdown: str
    message: str | tuple[str, ...]  #: what the model has to be sent (one of them), as far as it follows from the code
    reply: str
    required: Sequence[str] = ()  #: beside the answer
    forbidden: Sequence[str] = ()


def _code(language: str, *lines: str) -> str:
    return "\n".join([f"```{language} exec", *lines, "```", ""])


def _ask(message: str, kind: str = "describe") -> str:
    return f"::: {kind} {message} :::\n"


_SALES = 'sales = pandas.DataFrame({"city": ["Oslo", "Rome", "Oslo"], "amount": [5, 4, 3]})'
_FRAME = _code("python", "import pandas", _SALES)
_TABLE = _code("sql", "CREATE TABLE shop AS SELECT * FROM (VALUES ('pen', 2), ('ink', 7)) AS t(item, price)")

TASKS = (
    DocumentTask(
        "a number", _code("python", "total = sum([5, 4, 3])") + _ask("Say in words what {{ total }} stands for."),
        "what 12 stands for", "Twelve is the sum of the three sales.",
    ),
    DocumentTask(
        "a text", _code("python", "name = 'Ada ' + 'Lovelace'") + _ask("Who was {{ name }}?", "discuss"),
        "Who was Ada Lovelace?", "She wrote the first program for the Analytical Engine.",
    ),
    DocumentTask(
        "a list as JSON",
        _code("python", "squares = [n * n for n in range(4)]") + _ask("What are {{ squares | json }}?"),
        "What are [0, 1, 4, 9]?", "The squares of the numbers from nought to three.",
    ),
    DocumentTask(
        "a filter of the template",
        _code("python", "price = 3.14159") + _ask("Round it: {{ price | round(2) }} euros."),
        "Round it: 3.14 euros.", "About three euros.",
    ),
    DocumentTask(
        "a group of a table",
        _FRAME + _code("python", "best = sales.groupby('city').amount.sum().idxmax()")
        + _ask("Why does {{ best }} lead?"),
        "Why does Oslo lead?", "Two of its three sales were made there.",
    ),
    DocumentTask(
        "the head of a table", _FRAME + _ask("Tell of the first row: {{ sales | head(1) }}"),
        "Tell of the first row: ", "The first sale was made in Oslo.",
    ),
    DocumentTask(
        "a table by its schema", _FRAME + _ask("Name the columns: {{ sales | schema }}"),
        "amount", "A city, and an amount of whole numbers.",
    ),
    DocumentTask(
        "SQL alone",
        _TABLE + _code("sql", "SELECT max(price) AS top FROM shop") + _ask("Describe the shop: {{ shop | schema }}"),
        "Describe the shop: ", "Items with their prices.",
    ),
    DocumentTask(
        "a table from Python in SQL",
        _FRAME + _code("sql", "CREATE TABLE sums AS SELECT city, sum(amount) AS total FROM sales GROUP BY city")
        + _code("python", "rows = len(sums)") + _ask("There are {{ rows }} cities; compare them."),
        "There are 2 cities", "Oslo sold twice what Rome did.",
    ),
    DocumentTask(
        "a plain value from Python in SQL",
        _code("python", "least = 3") + _TABLE
        + _code("sql", "CREATE TABLE dear AS SELECT * FROM shop WHERE price > getvariable('least')")
        + _code("python", "count = len(dear)") + _ask("How rare are the {{ count }} dear ones?"),
        "How rare are the 1 dear ones?", "One of two items is dear.",
    ),
    DocumentTask(
        "inline code", _code("python", "x = 20") + "Half is `x / 2`{python exec}.\n\n" + _ask("And twice {{ x }}?"),
        "And twice 20?", "Forty.",
    ),
    DocumentTask(
        "a condition that holds",
        _code("python", "hot = True") + "::: if hot {python}\n\n" + _ask("Warn of heat.") + "\n:::\n",
        "Warn of heat.", "Drink water, and stay in the shade.",
    ),
    DocumentTask(
        "a condition that does not hold",
        _code("python", "hot = False") + "::: if hot {python}\n\n" + _ask("Warn of heat.") + "\n::: else\n\n"
        + _ask("Tell that it is mild.") + "\n:::\n",
        "Tell that it is mild.", "It is a mild day.", forbidden=("shade",),
    ),
    DocumentTask(
        "a loop", "::: for city in ['Oslo', 'Rome'] {python}\n\n" + _ask("Greet {{ city }}.") + "\n:::\n",
        ("Greet Oslo.", "Greet Rome."), "Good day, and welcome.",
    ),
    DocumentTask(
        "a parameter with its default", "&[n]{int min=1 max=9 def=3}\n\n" + _ask("Count to {{ n }}."),
        "Count to 3.", "One, two, three.",
    ),
    DocumentTask(
        "a parameter of the front matter",
        "---\nparams:\n  region: {enum: [north, south], default: north}\n---\n\n"
        + _ask("What lies in the {{ region }}?"),
        "What lies in the north?", "Snow, for most of the year.",
    ),
    DocumentTask(
        "an assertion that does not hold",
        _code("python", "total = 12") + "::: assert total == 13 {python}\n\n" + _ask("Explain {{ total }}."),
        "Explain 12.", "A dozen.",
    ),
    DocumentTask(
        "a chunk that fails beside one that does not",
        _code("python", "broken = 1 / 0") + _code("sql", "CREATE TABLE one AS SELECT 1 AS a")
        + _ask("Tell of {{ one | schema }}."),
        "Tell of", "One column, one row.",
    ),
    DocumentTask(
        "an unknown name is sent as it stands", _ask("Explain {{ nothing }} here."),
        "Explain {{ nothing }} here.", "It is not known what is meant.",
    ),
    DocumentTask(
        "a function",
        _code("python", "def fib(n):", "    return n if n < 2 else fib(n - 1) + fib(n - 2)", "tenth = fib(10)")
        + _ask("Which series has {{ tenth }}?"),
        "Which series has 55?", "Fibonacci's.",
    ),
    DocumentTask(
        "a date", _code("python", "import datetime", "day = datetime.date(2024, 2, 29)") + _ask("What of {{ day }}?"),
        "2024-02-29", "The day that leap years have.",
    ),
    DocumentTask(
        "two instructions, the second with a later value",
        _code("python", "n = 1") + _ask("First {{ n }}.") + "\n" + _code("python", "n = n + 1") + _ask("Then {{ n }}."),
        ("First 1.", "Then 2."), "Counted.",
    ),
    DocumentTask(
        "what is in a comment is left", "<!--\n" + _ask("Never ask this.") + "-->\n\n" + _ask("Ask this."),
        "Ask this.", "Asked.",
    ),
    DocumentTask(
        "an untouched line stays", "Größe: 3 m²  \n\n" + _ask("Explain the unit."),
        "Explain the unit.", "Square metres.", required=("Größe: 3 m²",),
    ),
)  # fmt: skip
