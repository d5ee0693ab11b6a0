"""Several inputs: joins, anti joins, unions, lookups."""

from __future__ import annotations

from benchmarks.transform_tasks.task import Cells, Row, Task, groups, mean, table

_NAMES: list[Row] = [
    {"symbol": "AAPL", "company": "Apple"},
    {"symbol": "MSFT", "company": "Microsoft"},
    {"symbol": "GOOG", "company": "Alphabet"},
]
_REGIONS: list[Row] = [
    {"site": "Crookston", "region": "north"},
    {"site": "Duluth", "region": "north"},
    {"site": "Grand Rapids", "region": "north"},
    {"site": "Morris", "region": "west"},
    {"site": "Waseca", "region": "south"},
]


def _companies() -> Cells:
    names = {row["symbol"]: row["company"] for row in _NAMES}
    found = groups([row for row in table("stocks") if row["symbol"] in names], "symbol")
    return sorted([names[symbol], mean(row["price"] for row in rows)] for symbol, rows in found.items())


def _unknown() -> Cells:
    known = {row["symbol"] for row in _NAMES}
    return [[symbol] for symbol in sorted({row["symbol"] for row in table("stocks")} - known)]


def _regions() -> Cells:
    regions = {row["site"]: row["region"] for row in _REGIONS}
    rows = groups([{**row, "region": regions.get(row["site"], "other")} for row in table("barley")], "region")
    return [[region, mean(row["yield"] for row in given)] for region, given in sorted(rows.items())]


def _cities() -> Cells:
    return [
        ["San Francisco", mean(r["temp"] for r in table("sf"))],
        ["Seattle", mean(r["temp"] for r in table("seattle"))],
    ]


def _differences() -> Cells:
    def months(name: str) -> dict[int, list[Row]]:
        return groups([{"month": int(row["date"][5:7]), "temp": row["temp"]} for row in table(name)], "month")

    one, two = months("sf"), months("seattle")
    return [[m, mean(r["temp"] for r in one[m]) - mean(r["temp"] for r in two[m])] for m in sorted(one)]


def _same_hours() -> Cells:
    warm = {row["date"][:16]: row["temp"] for row in table("sf")}
    return [[sum(row["temp"] > warm[row["date"]] for row in table("seattle") if row["date"] in warm)]]


TASKS = (
    Task(
        "prices of companies",
        "The mean price of each company in names (and of no other), by company.",
        ("stocks",),
        "d = stocks.merge(names, on='symbol')\nresult = d.groupby('company', as_index=False).price.mean()",
        "SELECT company, avg(price) AS price FROM stocks JOIN names USING (symbol) GROUP BY 1 ORDER BY 1",
        _companies,
        polars="import polars as pl\nresult = stocks.join(names, on='symbol').group_by('company')"
        ".agg(pl.col('price').mean()).sort('company')",
        r="result <- stocks |> dplyr::inner_join(names, by = 'symbol') |> dplyr::group_by(company) |> "
        "dplyr::summarise(price = mean(price)) |> dplyr::arrange(company)",
        rows={"names": _NAMES},
    ),
    Task(
        "symbols without a name",
        "The symbols of stocks that are not in names, once each, in order.",
        ("stocks",),
        "s = stocks[['symbol']].drop_duplicates()\nresult = s[~s.symbol.isin(names.symbol)].sort_values('symbol')",
        "SELECT DISTINCT symbol FROM stocks ANTI JOIN names USING (symbol) ORDER BY 1",
        _unknown,
        rows={"names": _NAMES},
    ),
    Task(
        "yields of regions",
        "The mean yield of each region; sites without a region are other; by region.",
        ("barley",),
        "d = barley.merge(regions, on='site', how='left')\n"
        "result = d.assign(region=d.region.fillna('other')).groupby('region', as_index=False)['yield'].mean()",
        'SELECT coalesce(region, \'other\') AS region, avg("yield") AS "yield" FROM barley LEFT JOIN regions USING (site) '
        "GROUP BY 1 ORDER BY 1",
        _regions,
        rows={"regions": _REGIONS},
    ),
    Task(
        "two cities",
        "The mean temperature of San Francisco (sf) and Seattle (seattle): city and temp, by city.",
        ("sf", "seattle"),
        "import pandas as pd\n"
        "d = pd.concat([sf.assign(city='San Francisco'), seattle.assign(city='Seattle')])\n"
        "result = d.groupby('city', as_index=False).temp.mean()",
        "SELECT city, avg(temp) AS temp FROM (SELECT 'San Francisco' AS city, temp FROM sf UNION ALL "
        "SELECT 'Seattle', temp FROM seattle) GROUP BY 1 ORDER BY 1",
        _cities,
    ),
    Task(
        "differences by month",
        "By month of the year, how much warmer San Francisco (sf) is than Seattle (seattle) in the mean.",
        ("sf", "seattle"),
        "a = sf.groupby(sf.date.dt.month.rename('month')).temp.mean()\n"
        "b = seattle.groupby(seattle.date.dt.month.rename('month')).temp.mean()\n"
        "result = (a - b).rename('difference').reset_index()",
        "SELECT a.month, a.temp - b.temp AS difference FROM (SELECT month(date) AS month, avg(temp) AS temp FROM sf GROUP BY 1) a "
        "JOIN (SELECT month(date) AS month, avg(temp) AS temp FROM seattle GROUP BY 1) b USING (month) ORDER BY 1",
        _differences,
    ),
    Task(
        "hours when Seattle was warmer",
        "In how many hours was Seattle warmer than San Francisco? One column hours.",
        ("seattle", "sf"),
        "import pandas as pd\nd = seattle.merge(sf, on='date', suffixes=('_seattle', '_sf'))\n"
        "result = pd.DataFrame({'hours': [int((d.temp_seattle > d.temp_sf).sum())]})",
        "SELECT count(*) AS hours FROM seattle a JOIN sf b USING (date) WHERE a.temp > b.temp",
        _same_hours,
    ),
)
