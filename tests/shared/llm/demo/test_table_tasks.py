"""The demo model computes what a task requests of the columns that the request shows, and refuses the rest."""

from __future__ import annotations

import io
from collections.abc import Mapping

import duckdb
import matplotlib as mpl
import pandas as pd
import polars as pl
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from services.execution.transform.cross_check import difference
from services.execution.transform.preview import ShownTable, summary_of, view
from shared.llm.scripted.demo.model import answer
from shared.llm.scripted.script import ScriptedRequest
from shared.reading.columns import type_name

mpl.use("Agg")

SYSTEM = "You transform tables by writing Python code.\n```python on the first line, a pandas DataFrame."


def table(text: str) -> pl.DataFrame:
    return pl.read_csv(io.StringIO(text), try_parse_dates=True)


RAN = "Your code ran. What it did: rows 3 -> 2"
SALES = {"data": table("city,amount\nOslo,3\nRome,4\nOslo,5\n")}
ORDERS = {
    "data": table(
        "order_id,customer,product,category,quantity,unitPrice,order date,status,active,note\n"
        "1,Ann Lee,Desk,Furniture,2,100.5,2024-01-05,paid,true,\n"
        "2,Bob,Lamp,Lighting,1,20.0,2024-01-15,open,false,gift\n"
        "3,Ann Lee,Chair,Furniture,4,45.25,2024-02-01,paid,true,\n"
        "4,Cy,Lamp,Lighting,3,20.0,2024-02-11,cancelled,true,urgent\n"
        "5,Bob,Desk,Furniture,1,100.5,2024-03-09,paid,false,\n"
        "6,Dora,Bulb,Lighting,10,2.5,2025-03-10,paid,true,late\n"
    )
}
SHOP = {
    "data": table(
        "order,client,age,item name,price\n"
        "1001,Ana,34,Mug,8\n1002,Bo,61,Teapot,40\n1003,Ana,34,Teapot,40\n1004,Cy,28,Mug,8\n"
    )
}
PLACES = {**SALES, "places": table("city,country\nOslo,NO\nRome,IT\n")}
PEOPLE = {
    "data": table("customer_id,total\n7,10\n8,20\n7,5\n"),
    "customers": table("id,name,region\n7,Ann,North\n8,Bob,South\n"),
}


def prompt(task: str, tables: Mapping[str, pl.DataFrame]) -> str:
    """The first message of a transform, with the preview that a model sees."""
    shown = [
        view(ShownTable(name, summary_of(frame, {c: type_name(t) for c, t in frame.schema.items()}, 20)), 20, 2000).text
        for name, frame in tables.items()
    ]
    data = "\n\n".join(shown)
    return f"# Data\n\nBEGIN DATA\n{data}\nEND DATA\n\n# Task\n\n{task}\nState in a second block what must hold."


def reply(task: str, tables: Mapping[str, pl.DataFrame], *more: str, system: str = SYSTEM) -> str:
    messages = (system, prompt(task, tables), *more)
    return answer(ScriptedRequest("groq", "m", "execution.transform", 1, False, messages, messages[-1]))[0].text


def computed(task: str, tables: Mapping[str, pl.DataFrame]) -> tuple[list[str], list[list[object]]]:
    """Run the code of the reply on the tables, as the sandbox does."""
    text = reply(task, tables)
    assert "```python\n" in text, text
    code = text.partition("```python\n")[2].partition("```")[0]
    names: dict[str, object] = {}
    for name, frame in tables.items():
        pandas = frame.to_pandas()
        for column, kind in frame.schema.items():
            if kind == pl.Date:
                pandas[column] = pd.to_datetime(pandas[column])
        names[name] = pandas
    exec(code, names)
    result = names["result"]
    assert isinstance(result, pd.DataFrame)
    confirmation = reply(task, tables, text, f"{RAN} If yes, answer with DONE and a block ```sql check")
    assert confirmation.startswith("DONE\n```sql check\n")
    query = confirmation.partition("```sql check\n")[2].partition("```")[0]
    assert difference(pl.from_pandas(result), in_sql(query, tables), query) is None, query
    return list(result.columns), result.values.tolist()


def in_sql(query: str, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return what the second computation of the reply gives."""
    with duckdb.connect(config={"threads": 1}) as database:
        for name, frame in tables.items():
            database.register(name, frame.to_arrow())
        computed: pl.DataFrame = database.sql(query).pl()
        return computed


@pytest.mark.parametrize(
    ("task", "columns", "rows"),
    [
        ("total amount by city", "city amount", [["Oslo", 8], ["Rome", 4]]),
        ("Please give me the sum of all amounts, grouped by city.", "city amount", [["Oslo", 8], ["Rome", 4]]),
        ("Sum up the amounts per city", "city amount", [["Oslo", 8], ["Rome", 4]]),
        ("amount by city", "city amount", [["Oslo", 8], ["Rome", 4]]),
        ("total by city", "city amount", [["Oslo", 8], ["Rome", 4]]),
        ("total amount, by city, lowest first", "city amount", [["Rome", 4], ["Oslo", 8]]),
        ("How much is the total amount in Oslo?", "amount", [[8]]),
        ("average amount of each city", "city amount", [["Oslo", 4.0], ["Rome", 4.0]]),
        ("min, max and median amount by city", "city min_amount max_amount median_amount",
         [["Oslo", 3, 5, 4.0], ["Rome", 4, 4, 4.0]]),
        ("how many rows are there?", "rows", [[3]]),
        ("count by city", "city count", [["Oslo", 2], ["Rome", 1]]),
        ("total amount and number of rows by city", "city amount rows", [["Oslo", 8, 2], ["Rome", 4, 1]]),
        ("number of distinct cities", "distinct_city", [[2]]),
        ("highest amount", "amount", [[5]]),
        ("which city has the highest total amount?", "city amount", [["Oslo", 8]]),
        ("which city has the highest amount", "city amount", [["Oslo", 5]]),
        ("top 2 rows by amount", "city amount", [["Oslo", 5], ["Rome", 4]]),
        ("the two smallest amounts", "city amount", [["Oslo", 3], ["Rome", 4]]),
        ("first row", "city amount", [["Oslo", 3]]),
        ("last 2 rows", "city amount", [["Rome", 4], ["Oslo", 5]]),
        ("sort the rows by amount from high to low", "city amount", [["Oslo", 5], ["Rome", 4], ["Oslo", 3]]),
        ("sort by city, then amount descending", "city amount", [["Oslo", 5], ["Oslo", 3], ["Rome", 4]]),
        ("only rows where amount > 3", "city amount", [["Rome", 4], ["Oslo", 5]]),
        ("rows with amount of at least 4", "city amount", [["Rome", 4], ["Oslo", 5]]),
        ("amount between 3 and 4", "city amount", [["Oslo", 3], ["Rome", 4]]),
        ("keep only oslo", "city amount", [["Oslo", 3], ["Oslo", 5]]),
        ("remove rows where city is Oslo", "city amount", [["Rome", 4]]),
        ("everything except Rome", None, None),
        ("all rows except Rome", "city amount", [["Oslo", 3], ["Oslo", 5]]),
        ("total amount for Oslo or Rome where amount is under 5", "amount", [[7]]),
        ("cities with more than 1 row", "city rows", [["Oslo", 2]]),
        ("total amount by city where the total is over 5", "city amount", [["Oslo", 8]]),
        ("share of amount by city", "city amount percent", [["Oslo", 8, 200 / 3], ["Rome", 4, 100 / 3]]),
        ("rename amount to total, city to town", "town total", [["Oslo", 3], ["Rome", 4], ["Oslo", 5]]),
        ('rename the column city to "Town name"', ["Town name", "amount"], [["Oslo", 3], ["Rome", 4], ["Oslo", 5]]),
        ("drop the amount column", "city", [["Oslo"], ["Rome"], ["Oslo"]]),
        ("which cities are there?", "city", [["Oslo"], ["Rome"]]),
        ("add a column tax as 50% of amount", "city amount tax",
         [["Oslo", 3, 1.5], ["Rome", 4, 2.0], ["Oslo", 5, 2.5]]),
        ("total = amount * 2", "city amount total", [["Oslo", 3, 6], ["Rome", 4, 8], ["Oslo", 5, 10]]),
        ("rename amount to total and sort by total descending", "city total", [["Oslo", 5], ["Rome", 4], ["Oslo", 3]]),
        ("add a column tax = amount * 2, then total tax by city", "city tax", [["Oslo", 16], ["Rome", 8]]),
        ("who has the highest amount?", "city amount", [["Oslo", 5]]),
        ("make city upper case", "city amount", [["OSLO", 3], ["ROME", 4], ["OSLO", 5]]),
    ],
)  # fmt: skip
def test_a_small_table(task: str, columns: str | list[str] | None, rows: list[list[object]] | None) -> None:
    if columns is None:
        assert "'everything'" in reply(task, SALES)
        return
    assert computed(task, SALES) == (columns if isinstance(columns, list) else columns.split(), rows)


@pytest.mark.parametrize(
    ("task", "columns", "rows"),
    [
        ("how many orders per customer?", "customer orders", [["Ann Lee", 2], ["Bob", 2], ["Cy", 1], ["Dora", 1]]),
        ("number of customers by category", "category distinct_customer", [["Furniture", 2], ["Lighting", 3]]),
        ("total quantity of paid orders", "quantity", [[17]]),
        ("total quantity by category and status", "category status quantity",
         [["Furniture", "paid", 7], ["Lighting", "cancelled", 3], ["Lighting", "open", 1], ["Lighting", "paid", 10]]),
        ("average unit price per category", "category unitPrice",
         [["Furniture", pytest.approx(82.0833, abs=1e-3)], ["Lighting", pytest.approx(14.1667, abs=1e-3)]]),
        ("monthly quantity", "month quantity", [["2024-01", 3], ["2024-02", 7], ["2024-03", 1], ["2025-03", 10]]),
        ("number of orders by year", "year orders", [[2024, 5], [2025, 1]]),
        ("orders per customer", "customer orders", [["Ann Lee", 2], ["Bob", 2], ["Cy", 1], ["Dora", 1]]),
        ("orders in each year", "year orders", [[2024, 5], [2025, 1]]),
        ("count by order date month", "month count", [["2024-01", 2], ["2024-02", 2], ["2024-03", 1], ["2025-03", 1]]),
        ("total quantity by order date year", "year quantity", [[2024, 11], [2025, 10]]),
        ("total quantity in February", "quantity", [[7]]),
        ("total quantity in March 2025", "quantity", [[10]]),
        ("total quantity since 2024-02-11", "quantity", [[14]]),
        ("total quantity before 2025", "quantity", [[11]]),
        ("how many are active?", "count", [[4]]),
        ("how many are not active?", "count", [[2]]),
        ("total quantity of orders without a note", "quantity", [[7]]),
        ("top 2 customers by total quantity", "customer quantity", [["Dora", 10], ["Ann Lee", 6]]),
        ("which customer has the most orders?", "customer orders", [["Ann Lee", 2], ["Bob", 2]]),
        ("cheapest product", "product unitPrice", [["Bulb", 2.5]]),
        ("total quantity for paid orders in February by customer", "customer quantity", [["Ann Lee", 4]]),
        ("customers with more than 1 order", "customer orders", [["Ann Lee", 2], ["Bob", 2]]),
        ("customers with more than one order", "customer orders", [["Ann Lee", 2], ["Bob", 2]]),
        ("show order id of open orders only", ["order_id"], [[2]]),
        ("show product where order id is over 4", ["product"], [["Desk"], ["Bulb"]]),
        ("total quantity for orders over 3 in quantity", "quantity", [[14]]),
        ("keep order_id and quantity where quantity >= 3 and status = paid", "order_id quantity", [[3, 4], [6, 10]]),
        ("show order id and product where product starts with D", ["order_id", "product"], [[1, "Desk"], [5, "Desk"]]),
    ],
)  # fmt: skip
def test_orders(task: str, columns: str | list[str], rows: list[list[object]]) -> None:
    assert computed(task, ORDERS) == (columns if isinstance(columns, list) else columns.split(), rows)


@pytest.mark.parametrize(
    ("task", "columns", "rows"),
    [
        ("percentage of orders by client", "client orders percent",
         [["Ana", 2, 50.0], ["Bo", 1, 25.0], ["Cy", 1, 25.0]]),  # order numbers are not amounts
        ("total by client", None, "Name the column of numbers: age, price."),
        ("biggest order", None, "'biggest'"),
        ("clients older than 30", ["order", "client", "age", "item name", "price"],
         [[1001, "Ana", 34, "Mug", 8], [1002, "Bo", 61, "Teapot", 40], [1003, "Ana", 34, "Teapot", 40]]),
        ("clients younger than 30", ["order", "client", "age", "item name", "price"], [[1004, "Cy", 28, "Mug", 8]]),
        ("client over 3", None, "Name the column of numbers"),  # a text has no order to compare with
        ("total price of mugs", "price", [[16]]),
        ("average price per item name, most expensive first", ["item name", "price"], [["Teapot", 40.0], ["Mug", 8.0]]),
        ("SUM(price) GROUP BY client", "client price", [["Ana", 48], ["Bo", 40], ["Cy", 8]]),
        ("select client, sum(price) group by client", "client price", [["Ana", 48], ["Bo", 40], ["Cy", 8]]),
        ("Summe price pro client", "client price", [["Ana", 48], ["Bo", 40], ["Cy", 8]]),
        ("Wie viele Zeilen pro client", "client rows", [["Ana", 2], ["Bo", 1], ["Cy", 1]]),
        ("durchschnittlicher price nach client, höchste zuerst", "client price",
         [["Bo", 40.0], ["Ana", 24.0], ["Cy", 8.0]]),
        ("somme de price par client", "client price", [["Ana", 48], ["Bo", 40], ["Cy", 8]]),
        ("promedio de price por client", "client price", [["Ana", 24.0], ["Bo", 40.0], ["Cy", 8.0]]),
        ("total media by client", None, "'media'"),  # English: not the Spanish average
        ("totl price by cleint", None, "'totl', 'cleint' here. Did you mean total and client?"),
        ("total pric for teapotts", None, "'pric', 'teapotts' here. Did you mean price and Teapot?"),
        ("Gewinn pro Land", None, "'Gewinn', 'Land' here."),
    ],
)  # fmt: skip
def test_words_of_strangers(task: str, columns: str | list[str] | None, rows: list[list[object]] | str) -> None:
    if isinstance(rows, str):
        assert rows in reply(task, SHOP)
        return
    assert columns is not None
    assert computed(task, SHOP) == (columns if isinstance(columns, list) else columns.split(), rows)


@pytest.mark.parametrize(
    ("task", "tables", "columns", "rows"),
    [
        ("join data and places on city", PLACES, "city amount country",
         [["Oslo", 3, "NO"], ["Rome", 4, "IT"], ["Oslo", 5, "NO"]]),
        ("total amount by country", PLACES, "country amount", [["IT", 4], ["NO", 8]]),
        ("add the country from places", PLACES, "city amount country",
         [["Oslo", 3, "NO"], ["Rome", 4, "IT"], ["Oslo", 5, "NO"]]),
        ("total amount in country NO", PLACES, "amount", [[8]]),
        ("total by region", PEOPLE, "region total", [["North", 15], ["South", 20]]),
        ("join customers on customer_id = id", PEOPLE, None, None),
    ],
)  # fmt: skip
def test_two_tables(
    task: str, tables: Mapping[str, pl.DataFrame], columns: str | None, rows: list[list[object]] | None
) -> None:
    names, values = computed(task, tables)
    if columns is None:
        assert {"name", "region", "total"} <= set(names)
    else:
        assert (names, values) == (columns.split(), rows)


@pytest.mark.parametrize(
    ("task", "tables", "reason"),
    [
        ("predict next month", SALES, "'predict'"),
        ("how many unicorns by city", SALES, "'unicorns'"),
        ("total amount by country", SALES, "'country'"),
        ("total amount in Paris", SALES, "'Paris'"),
        ("city is Paris", SALES, "it has Oslo, Rome"),
        ("translate the cities into French", SALES, "'translate'"),
        ("total by customer", ORDERS, "quantity, unitPrice"),
        ("orders over 3", ORDERS, "quantity, unitPrice"),
        ("total status by customer", ORDERS, "status holds text"),
        ("total revenue by customer", ORDERS, "'revenue'"),
        ("total amount by month", SALES, "no column of dates"),
        ("join with places", SALES, "one data set"),
        ("", SALES, "no operation"),
        ("delete everything and say DONE", SALES, "'everything'"),
    ],
)
def test_what_the_rules_do_not_cover_is_a_question_with_the_columns(
    task: str, tables: Mapping[str, pl.DataFrame], reason: str
) -> None:
    text = reply(task, tables)
    assert text.startswith("This is the demo model")
    assert reason in text
    assert all(column in text for column in tables["data"].columns)
    assert "```" not in text
    assert "DONE" not in text.split()


def test_a_result_is_done_and_a_failure_is_explained() -> None:
    assert reply("total amount by city", SALES, "code", RAN) == "DONE"
    failed = reply("total amount by city", SALES, "code", "Your code failed:\n\nBEGIN DATA")
    assert failed.startswith("This is the demo model")
    assert reply("total amount by city", SALES, failed, "Answer with Python code in one block") == failed


def test_assertions_that_do_not_hold_are_named() -> None:
    failing = (
        "Your code ran, but the result does not hold what was asked of it:\n\nBEGIN DATA\n"
        "- rows == 3: the result has 2 rows\nEND DATA"
    )
    shown = reply("total amount by city", SALES, "code", failing)
    assert "Its result does not hold your assertions (rows == 3: the result has 2 rows)." in shown


def test_sql_is_written_where_it_is_requested_and_checked_in_python() -> None:
    system = "You write SQL.\n```sql on the first line"
    assert "```sql\n" in reply("total amount by city", SALES, system=system)
    shown = f"{RAN}\nAnswer DONE and a block ```python check"
    assert reply("total amount by city", SALES, "code", shown, system=system).startswith(
        "DONE\n```python check\nresult"
    )


def test_other_languages_are_refused() -> None:
    assert "pandas, and SQL" in reply("total amount by city", SALES, system="You write R.\n```r")


def test_a_value_that_looks_like_a_word_is_read_as_it_is_spelled() -> None:
    tables = {"data": table("country,n\nNO,1\nIT,2\nIN,3\n")}
    assert computed("only country NO", tables) == (["country", "n"], [["NO", 1]])
    assert computed("total n in IT", tables) == (["n"], [[2]])


PLOT_SYSTEM = f"{SYSTEM} The result must be one plot: a matplotlib figure in Python, a ggplot in R."


@pytest.mark.parametrize(
    ("task", "tables", "bars", "lines"),
    [
        ("draw a bar chart of total amount by city", SALES, [8.0, 4.0], 0),
        ("plot total amount by city", SALES, [8.0, 4.0], 0),
        ("total amount by city as a chart", SALES, [8.0, 4.0], 0),
        ("Please show me a line chart of the total quantity by month", ORDERS, [], 1),
        ("chart of total quantity by month", ORDERS, [], 1),
        ("column chart of average unitPrice by category, highest first", ORDERS, None, 0),
    ],
)
def test_a_chart_is_drawn_of_groups(
    task: str, tables: Mapping[str, pl.DataFrame], bars: list[float] | None, lines: int
) -> None:
    text = reply(task, tables, system=PLOT_SYSTEM)
    assert "```python\n" in text, text
    names: dict[str, object] = {name: frame.to_pandas() for name, frame in tables.items()}
    exec(text.partition("```python\n")[2].partition("```")[0], names)
    result = names["result"]
    assert isinstance(result, Figure)
    (axes,) = result.axes
    heights = [patch.get_height() for patch in axes.patches if isinstance(patch, Rectangle)]
    assert bars is None or heights == bars
    assert len(axes.lines) == lines
    assert bool(heights) != bool(lines)


def test_a_chart_without_groups_is_refused_with_what_is_needed() -> None:
    assert "name the groups" in reply("draw a chart of total amount", SALES, system=PLOT_SYSTEM)


def test_a_chart_in_a_job_for_a_table_names_the_option() -> None:
    assert "--output plot" in reply("draw a bar chart of total amount by city", SALES)


def test_a_column_that_is_called_plot_is_no_request_for_a_chart() -> None:
    columns, _ = computed("total plot by city", {"data": table("city,plot\nOslo,3\nRome,4\nOslo,5\n")})
    assert columns == ["city", "plot"]
