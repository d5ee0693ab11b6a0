"""Windows and dates."""

from __future__ import annotations

from datetime import date, datetime
from itertools import accumulate, groupby

from benchmarks.transform_tasks.task import Cells, Row, Task, groups, mean, table


def _prices(symbol: str) -> list[tuple[str, float]]:
    rows = [row for row in table("stocks") if row["symbol"] == symbol]
    return sorted((datetime.strptime(row["date"], "%b %d %Y").date().isoformat(), row["price"]) for row in rows)


def _changes() -> Cells:
    prices = _prices("GOOG")
    before: list[float | None] = [None, *(price for _, price in prices)]
    return [[day, None if last is None else price - last] for (day, price), last in zip(prices, before, strict=False)]


def _running() -> Cells:
    days = [row for row in table("weather") if row["date"].startswith("2012/01")]
    totals = accumulate(row["precipitation"] for row in days)
    return [[row["date"].replace("/", "-"), total] for row, total in zip(days, totals, strict=True)]


def _moving() -> Cells:
    prices = _prices("AMZN")[:12]
    return [
        [day, mean(price for _, price in prices[at - 2 : at + 1]) if at >= 2 else None]
        for at, (day, _) in enumerate(prices)
    ]


def _ranks() -> Cells:
    day = [row for row in table("stocks") if row["date"] == "Mar 1 2010"]
    ordered = sorted(day, key=lambda row: -row["price"])
    return [[rank, row["symbol"], row["price"]] for rank, row in enumerate(ordered, 1)]


def _streak() -> Cells:
    runs = groupby(table("weather"), key=lambda row: row["weather"] == "rain")
    return [[max(len(list(days)) for rainy, days in runs if rainy)]]


def _months_of_rain() -> Cells:
    days = [{**r, "month": r["date"][:7].replace("/", "-")} for r in table("weather") if r["date"] >= "2015"]
    return [[month, sum(r["precipitation"] for r in rows)] for month, rows in sorted(groups(days, "month").items())]


def _hours() -> Cells:
    rows = groups([{"hour": int(row["date"][11:13]), "temp": row["temp"]} for row in table("seattle")], "hour")
    return [[hour, mean(row["temp"] for row in given)] for hour, given in sorted(rows.items())]


def _weekdays() -> Cells:
    known = [{"day": date.fromisoformat(row["death_date"]).isoweekday()} for row in table("riots") if row["death_date"]]
    return [[day, len(rows)] for day, rows in sorted(groups(known, "day").items())]


def _quarters() -> Cells:
    def quarter(row: Row) -> str:
        return f"{row['date'][:4]}-Q{(int(row['date'][5:7]) + 2) // 3}"

    rows = groups([{"quarter": quarter(row), "disease": row["disease"]} for row in table("crimea")], "quarter")
    return [[name, sum(row["disease"] for row in given)] for name, given in sorted(rows.items())]


def _spans() -> Cells:
    rows: Cells = []
    for symbol in sorted({row["symbol"] for row in table("stocks")}):
        days = [date.fromisoformat(day) for day, _ in _prices(symbol)]
        rows.append([symbol, (max(days) - min(days)).days])
    return rows


def _best_months() -> Cells:
    rows: Cells = []
    for symbol in sorted({row["symbol"] for row in table("stocks")}):
        day, price = max(_prices(symbol), key=lambda pair: pair[1])
        rows.append([symbol, day, price])
    return rows


TASKS = (
    Task(
        "monthly changes",
        "For GOOG the change of the price since the previous month: date and change, by date.",
        ("stocks",),
        "d = stocks[stocks.symbol == 'GOOG'].sort_values('date')\nresult = d.assign(change=d.price.diff())[['date', 'change']]",
        "SELECT date, price - lag(price) OVER (ORDER BY date) AS change FROM stocks WHERE symbol = 'GOOG' ORDER BY date",
        _changes,
        polars="import polars as pl\nresult = stocks.filter(pl.col('symbol') == 'GOOG').sort('date')"
        ".select('date', pl.col('price').diff().alias('change'))",
        r="result <- stocks |> dplyr::filter(symbol == 'GOOG') |> dplyr::arrange(date) |> "
        "dplyr::mutate(change = price - dplyr::lag(price)) |> dplyr::select(date, change)",
    ),
    Task(
        "running total of rain",
        "The running total of precipitation in January 2012: date and total.",
        ("weather",),
        "d = weather[(weather.date >= '2012-01-01') & (weather.date < '2012-02-01')].sort_values('date')\n"
        "result = d.assign(total=d.precipitation.cumsum())[['date', 'total']]",
        "SELECT date, sum(precipitation) OVER (ORDER BY date) AS total FROM weather "
        "WHERE date >= DATE '2012-01-01' AND date < DATE '2012-02-01' ORDER BY date",
        _running,
    ),
    Task(
        "moving average",
        "The moving average over three months of AMZN, its first twelve months; missing where there are not three.",
        ("stocks",),
        "d = stocks[stocks.symbol == 'AMZN'].sort_values('date')\n"
        "result = d.assign(average=d.price.rolling(3).mean())[['date', 'average']].head(12)",
        "SELECT date, CASE WHEN row_number() OVER (ORDER BY date) >= 3 THEN avg(price) OVER (ORDER BY date ROWS "
        "BETWEEN 2 PRECEDING AND CURRENT ROW) END AS average FROM stocks WHERE symbol = 'AMZN' ORDER BY date LIMIT 12",
        _moving,
    ),
    Task(
        "ranks of a day",
        "The symbols on 1 March 2010 ranked by price: rank, symbol, price.",
        ("stocks",),
        "d = stocks[stocks.date == '2010-03-01'].sort_values('price', ascending=False)\n"
        "result = d.assign(rank=range(1, len(d) + 1))[['rank', 'symbol', 'price']]",
        "SELECT rank() OVER (ORDER BY price DESC) AS rank, symbol, price FROM stocks WHERE date = DATE '2010-03-01' ORDER BY 1",
        _ranks,
    ),
    Task(
        "longest streak of rain",
        "The longest run of days in a row whose weather was rain: one column days.",
        ("weather",),
        "import pandas as pd\nr = weather.sort_values('date').weather.eq('rain')\n"
        "result = pd.DataFrame({'days': [int(r.groupby((~r).cumsum()).sum().max())]})",
        "SELECT max(n) AS days FROM (SELECT count(*) AS n FROM (SELECT date, date - (row_number() OVER (ORDER BY date))::INT "
        "AS run FROM weather WHERE weather = 'rain') GROUP BY run)",
        _streak,
    ),
    Task(
        "months of rain",
        "The precipitation of each month of 2015: month as YYYY-MM, and total.",
        ("weather",),
        "d = weather[weather.date >= '2015-01-01']\n"
        "result = d.groupby(d.date.dt.strftime('%Y-%m').rename('month'), as_index=False).precipitation.sum()",
        "SELECT strftime(date, '%Y-%m') AS month, sum(precipitation) AS precipitation FROM weather "
        "WHERE date >= DATE '2015-01-01' GROUP BY 1 ORDER BY 1",
        _months_of_rain,
        polars="import polars as pl\nresult = weather.filter(pl.col('date').dt.year() == 2015)"
        ".group_by(pl.col('date').dt.strftime('%Y-%m').alias('month')).agg(pl.col('precipitation').sum()).sort('month')",
    ),
    Task(
        "hours of the day",
        "The mean temperature of each hour of the day.",
        ("seattle",),
        "result = seattle.groupby(seattle.date.dt.hour.rename('hour'), as_index=False).temp.mean()",
        "SELECT hour(date) AS hour, avg(temp) AS temp FROM seattle GROUP BY 1 ORDER BY 1",
        _hours,
    ),
    Task(
        "days of the week",
        "Deaths by day of the week, 1 for Monday to 7 for Sunday, without missing dates.",
        ("riots",),
        "d = riots.dropna(subset=['death_date'])\n"
        "result = d.groupby((d.death_date.dt.dayofweek + 1).rename('day')).size().reset_index(name='deaths')",
        "SELECT isodow(death_date) AS day, count(*) AS deaths FROM riots WHERE death_date IS NOT NULL GROUP BY 1 ORDER BY 1",
        _weekdays,
    ),
    Task(
        "quarters",
        "Deaths from disease by quarter, named like 1854-Q2.",
        ("crimea",),
        "import pandas as pd\np = pd.to_datetime(crimea.date).dt.to_period('Q')\n"
        "q = (p.dt.year.astype(str) + '-Q' + p.dt.quarter.astype(str)).rename('quarter')\n"
        "result = crimea.groupby(q, as_index=False).disease.sum()",
        "SELECT year(date::DATE) || '-Q' || quarter(date::DATE) AS quarter, sum(disease) AS disease FROM crimea "
        "GROUP BY 1 ORDER BY 1",
        _quarters,
    ),
    Task(
        "spans",
        "For each symbol the days between its first and its last date, by symbol.",
        ("stocks",),
        "g = stocks.groupby('symbol').date\nresult = (g.max() - g.min()).dt.days.rename('days').reset_index()",
        "SELECT symbol, date_diff('day', min(date), max(date)) AS days FROM stocks GROUP BY 1 ORDER BY 1",
        _spans,
    ),
    Task(
        "best months",
        "For each symbol the date and the price of its highest price, by symbol.",
        ("stocks",),
        "result = stocks.loc[stocks.groupby('symbol').price.idxmax()].sort_values('symbol')[['symbol', 'date', 'price']]",
        "SELECT symbol, arg_max(date, price) AS date, max(price) AS price FROM stocks GROUP BY 1 ORDER BY 1",
        _best_months,
    ),
)
