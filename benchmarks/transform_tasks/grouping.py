"""Groups, counts, ratios, missing data."""

from __future__ import annotations

from statistics import median

from benchmarks.transform_tasks.task import Cells, Row, Task, groups, mean, table


def _mean_prices() -> Cells:
    return [
        [s, round(mean(r["price"] for r in rows), 2)] for s, rows in sorted(groups(table("stocks"), "symbol").items())
    ]


def _states() -> Cells:
    counts = {state: len(rows) for state, rows in groups(table("airports"), "state").items() if state}
    return [[state, count] for state, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:5]]


def _yields() -> Cells:
    found = groups(table("barley"), "site", "year")
    return [[site, year, mean(row["yield"] for row in rows)] for (site, year), rows in sorted(found.items())]


def _sources() -> Cells:
    found = groups(table("iowa"), "source").items()
    return sorted([source, sum(row["net_generation"] for row in rows)] for source, rows in found)


def _kinds_of_weather() -> Cells:
    counts = [[kind, len(rows)] for kind, rows in groups(table("weather"), "weather").items()]
    return sorted(counts, key=lambda pair: (-pair[1], pair[0]))


def _temperatures() -> Cells:
    return [
        [kind, max(r["temp_max"] for r in rows), min(r["temp_min"] for r in rows), mean(r["wind"] for r in rows)]
        for kind, rows in sorted(groups(table("weather"), "weather").items())
    ]


def _renewables() -> Cells:
    rows: Cells = []
    for year, sources in sorted(groups(table("iowa"), "year").items()):
        part = sum(r["net_generation"] for r in sources if r["source"] == "Renewables")
        rows.append([int(year[:4]), part / sum(r["net_generation"] for r in sources)])
    return rows


def _power() -> Cells:
    rated = [row for row in table("cars") if row["Horsepower"] is not None]
    best = sorted(rated, key=lambda row: (-row["Horsepower"] / row["Weight_in_lbs"], row["Name"]))[:5]
    return [[row["Name"], row["Horsepower"] / row["Weight_in_lbs"]] for row in best]


def _rainy_share() -> Cells:
    years = groups([{**row, "year": int(row["date"][:4])} for row in table("weather")], "year")
    return [[year, 100 * mean(row["weather"] == "rain" for row in rows)] for year, rows in sorted(years.items())]


def _filled() -> Cells:
    rows: Cells = []
    for origin, cars in sorted(groups(table("cars"), "Origin").items()):
        middle = median(row["Horsepower"] for row in cars if row["Horsepower"] is not None)
        rows.append([origin, mean(middle if r["Horsepower"] is None else r["Horsepower"] for r in cars)])
    return rows


def _missing() -> Cells:
    cars = table("cars")
    names = list(cars[0])
    counts = [[name, sum(row[name] is None for row in cars)] for name in names]
    return sorted((pair for pair in counts if pair[1]), key=lambda pair: str(pair[0]))


def _ages() -> Cells:
    def band(row: Row) -> str:
        return "under 18" if row["age"] < 18 else "18 to 39" if row["age"] < 40 else "40 and over"

    known = [{"band": band(row)} for row in table("riots") if row["age"] is not None]
    return sorted([name, len(rows)] for name, rows in groups(known, "band").items())


_ORIGIN = (
    'SELECT "Origin" AS origin, avg(coalesce("Horsepower", m)) AS horsepower FROM (SELECT *, median("Horsepower") '
)

TASKS = (
    Task(
        "mean prices",
        "The mean price of each symbol, rounded to two places, by symbol.",
        ("stocks",),
        "result = stocks.groupby('symbol', as_index=False).price.mean().round(2)",
        "SELECT symbol, round(avg(price), 2) AS price FROM stocks GROUP BY 1 ORDER BY 1",
        _mean_prices,
        polars="import polars as pl\nresult = stocks.group_by('symbol').agg(pl.col('price').mean().round(2)).sort('symbol')",
        r="result <- stocks |> dplyr::group_by(symbol) |> dplyr::summarise(price = round(mean(price), 2))",
    ),
    Task(
        "airports by state",
        "The five states with the most airports and how many; ties by state.",
        ("airports",),
        "d = airports.groupby('state').size().reset_index(name='n')\n"
        "result = d.sort_values(['n', 'state'], ascending=[False, True]).head(5)",
        "SELECT state, count(*) AS n FROM airports WHERE state IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
        _states,
    ),
    Task(
        "mean yields",
        "The mean yield of each site and year, by site and year.",
        ("barley",),
        "result = barley.groupby(['site', 'year'], as_index=False)['yield'].mean()",
        'SELECT site, year, avg("yield") AS "yield" FROM barley GROUP BY 1, 2 ORDER BY 1, 2',
        _yields,
        polars="import polars as pl\nresult = barley.group_by('site', 'year').agg(pl.col('yield').mean()).sort('site', 'year')",
    ),
    Task(
        "generation by source",
        "The total net generation of each source, by source.",
        ("iowa",),
        "result = iowa.groupby('source', as_index=False).net_generation.sum()",
        "SELECT source, sum(net_generation) AS net_generation FROM iowa GROUP BY 1 ORDER BY 1",
        _sources,
    ),
    Task(
        "kinds of weather",
        "How many days of each kind of weather, the most frequent first.",
        ("weather",),
        "d = weather.groupby('weather').size().reset_index(name='days')\n"
        "result = d.sort_values(['days', 'weather'], ascending=[False, True])",
        "SELECT weather, count(*) AS days FROM weather GROUP BY 1 ORDER BY 2 DESC, 1",
        _kinds_of_weather,
    ),
    Task(
        "temperatures by weather",
        "For each kind of weather the highest temp_max, the lowest temp_min and the mean wind, by weather.",
        ("weather",),
        "result = weather.groupby('weather', as_index=False).agg(high=('temp_max', 'max'), low=('temp_min', 'min'), "
        "wind=('wind', 'mean'))",
        "SELECT weather, max(temp_max) AS high, min(temp_min) AS low, avg(wind) AS wind FROM weather GROUP BY 1 ORDER BY 1",
        _temperatures,
    ),
    Task(
        "share of renewables",
        "For each year (as a number) the share of Renewables in all net generation, from 0 to 1.",
        ("iowa",),
        "d = iowa.assign(year=iowa.year.dt.year, r=iowa.net_generation.where(iowa.source == 'Renewables', 0))\n"
        "g = d.groupby('year', as_index=False)[['r', 'net_generation']].sum()\n"
        "result = g.assign(share=g.r / g.net_generation)[['year', 'share']]",
        "SELECT year(year) AS year, sum(net_generation) FILTER (source = 'Renewables') / sum(net_generation) AS share "
        "FROM iowa GROUP BY 1 ORDER BY 1",
        _renewables,
    ),
    Task(
        "power to weight",
        "The five cars with the most horsepower per pound: name and ratio; ties by name; skip missing horsepower.",
        ("cars",),
        "d = cars.dropna(subset=['Horsepower'])\n"
        "d = d.assign(ratio=d.Horsepower / d.Weight_in_lbs).sort_values(['ratio', 'Name'], ascending=[False, True])\n"
        "result = d[['Name', 'ratio']].head(5)",
        'SELECT "Name", "Horsepower" / "Weight_in_lbs" AS ratio FROM cars WHERE "Horsepower" IS NOT NULL '
        "ORDER BY 2 DESC, 1 LIMIT 5",
        _power,
    ),
    Task(
        "rainy days a year",
        "For each year the percentage of days whose weather was rain.",
        ("weather",),
        "d = weather.assign(year=weather.date.dt.year, percent=(weather.weather == 'rain') * 100.0)\n"
        "result = d.groupby('year', as_index=False).percent.mean()",
        "SELECT year(date) AS year, 100 * avg((weather = 'rain')::INT) AS percent FROM weather GROUP BY 1 ORDER BY 1",
        _rainy_share,
    ),
    Task(
        "fill by median",
        "Fill missing horsepower with the median of the origin, then give the mean horsepower of each origin.",
        ("cars",),
        "hp = cars.Horsepower.fillna(cars.groupby('Origin').Horsepower.transform('median'))\n"
        "result = cars.assign(horsepower=hp).groupby('Origin', as_index=False).horsepower.mean()",
        _ORIGIN + 'OVER (PARTITION BY "Origin") AS m FROM cars) GROUP BY 1 ORDER BY 1',
        _filled,
    ),
    Task(
        "what is missing",
        "Which columns of cars have missing values, and how many, by column name.",
        ("cars",),
        "s = cars.isna().sum()\n"
        "result = s[s > 0].rename_axis('column').reset_index(name='missing').sort_values('column')",
        'SELECT \'Horsepower\' AS "column", count(*) - count("Horsepower") AS missing FROM cars UNION ALL '
        "SELECT 'Miles_per_Gallon', count(*) - count(\"Miles_per_Gallon\") FROM cars ORDER BY 1",
        _missing,
    ),
    Task(
        "bands of age",
        "Count people by band of age (under 18, 18 to 39, 40 and over), without those whose age is missing.",
        ("riots",),
        "import pandas as pd\n"
        "b = pd.cut(riots.age.dropna(), [0, 17, 39, 200], labels=['under 18', '18 to 39', '40 and over']).astype(str)\n"
        "result = b.value_counts().rename_axis('band').reset_index(name='people')",
        "SELECT CASE WHEN age < 18 THEN 'under 18' WHEN age < 40 THEN '18 to 39' ELSE '40 and over' END AS band, "
        "count(*) AS people FROM riots WHERE age IS NOT NULL GROUP BY 1",
        _ages,
        ordered=False,
    ),
)
