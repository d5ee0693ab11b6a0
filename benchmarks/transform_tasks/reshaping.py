"""Pivots, wide to long, crosstabs."""

from __future__ import annotations

from benchmarks.transform_tasks.task import Cells, Task, groups, mean, table

_MEASURES = ("petalLength", "petalWidth", "sepalLength", "sepalWidth")
_CAUSES = ("disease", "other", "wounds")


def _sites_by_year() -> Cells:
    found = groups(table("barley"), "site", "year")
    sites = sorted({row["site"] for row in table("barley")})
    return [[site, *(mean(row["yield"] for row in found[site, year]) for year in (1931, 1932))] for site in sites]


def _sources_by_year() -> Cells:
    found = {(row["year"], row["source"]): row["net_generation"] for row in table("iowa")}
    years = sorted({row["year"] for row in table("iowa")})
    return [[int(y[:4]), *(found[y, s] for s in ("Fossil Fuels", "Nuclear Energy", "Renewables"))] for y in years]


def _weather_by_year() -> Cells:
    days = groups([{**row, "year": int(row["date"][:4])} for row in table("weather")], "year", "weather")
    return [
        [year, *(len(days.get((year, kind), [])) for kind in ("drizzle", "fog", "rain", "snow", "sun"))]
        for year in (2012, 2013, 2014, 2015)
    ]


def _causes() -> Cells:
    return sorted([row["date"], cause, row[cause]] for row in table("crimea") for cause in _CAUSES)


def _sectors() -> Cells:
    sectors = ("construction", "government", "manufacturing")
    rows = [[row["month"], sector, row[sector]] for sector in sectors for row in table("employment")]
    return [row for row in rows if row[0] >= "2015-11-01"]


def _measures() -> Cells:
    found = groups(table("iris"), "species").items()
    return sorted([species, name, mean(row[name] for row in rows)] for species, rows in found for name in _MEASURES)


def _cylinders() -> Cells:
    counts = groups(table("cars"), "Origin", "Cylinders")
    kinds = (3, 4, 5, 6, 8)
    return [[o, *(len(counts.get((o, kind), [])) for kind in kinds)] for o in ("Europe", "Japan", "USA")]


TASKS = (
    Task(
        "sites by year",
        "Wide: one row for each site, one column for each year, with the mean yield.",
        ("barley",),
        "w = barley.pivot_table(index='site', columns='year', values='yield', aggfunc='mean').reset_index()\n"
        "w.columns = [str(c) for c in w.columns]\nresult = w",
        'SELECT site, avg("yield") FILTER (year = 1931) AS "1931", avg("yield") FILTER (year = 1932) AS "1932" '
        "FROM barley GROUP BY 1 ORDER BY 1",
        _sites_by_year,
        polars="result = barley.pivot('year', index='site', values='yield', aggregate_function='mean')"
        ".select('site', '1931', '1932').sort('site')",
        r="result <- barley |> dplyr::group_by(site, year) |> dplyr::summarise(y = mean(yield), .groups = 'drop') |> "
        "tidyr::pivot_wider(names_from = year, values_from = y) |> dplyr::select(site, `1931`, `1932`) |> "
        "dplyr::arrange(site)",
    ),
    Task(
        "sources by year",
        "Wide: one row for each year (as a number), one column for each source, with net generation.",
        ("iowa",),
        "d = iowa.assign(year=iowa.year.dt.year)\n"
        "result = d.pivot(index='year', columns='source', values='net_generation').reset_index()",
        "SELECT year(year) AS year, sum(net_generation) FILTER (source = 'Fossil Fuels') AS \"Fossil Fuels\", "
        "sum(net_generation) FILTER (source = 'Nuclear Energy') AS \"Nuclear Energy\", "
        "sum(net_generation) FILTER (source = 'Renewables') AS \"Renewables\" FROM iowa GROUP BY 1 ORDER BY 1",
        _sources_by_year,
    ),
    Task(
        "weather by year",
        "A crosstab of year and kind of weather: days, 0 where there are none, kinds in alphabetical order.",
        ("weather",),
        "import pandas as pd\nresult = pd.crosstab(weather.date.dt.year.rename('year'), weather.weather).reset_index()",
        "SELECT year(date) AS year, count(*) FILTER (weather = 'drizzle') AS drizzle, "
        "count(*) FILTER (weather = 'fog') AS fog, count(*) FILTER (weather = 'rain') AS rain, "
        "count(*) FILTER (weather = 'snow') AS snow, count(*) FILTER (weather = 'sun') AS sun "
        "FROM weather GROUP BY 1 ORDER BY 1",
        _weather_by_year,
    ),
    Task(
        "causes of death",
        "Long: date, cause and deaths, from the columns wounds, other and disease; by date and cause.",
        ("crimea",),
        "d = crimea.melt(id_vars='date', var_name='cause', value_name='deaths')\n"
        "result = d.sort_values(['date', 'cause'])",
        "SELECT * FROM (UNPIVOT crimea ON wounds, other, disease INTO NAME cause VALUE deaths) ORDER BY date, cause",
        _causes,
        polars="result = crimea.unpivot(index='date', variable_name='cause', value_name='deaths').sort('date', 'cause')",
        r="result <- crimea |> tidyr::pivot_longer(c(wounds, other, disease), names_to = 'cause', values_to = 'deaths') |> "
        "dplyr::arrange(date, cause)",
    ),
    Task(
        "sectors",
        "Long: month, sector and jobs for construction, government and manufacturing since November 2015, "
        "by sector and month.",
        ("employment",),
        "d = employment[employment.month >= '2015-11-01']\n"
        "m = d.melt(id_vars='month', value_vars=['construction', 'government', 'manufacturing'], "
        "var_name='sector', value_name='jobs')\nresult = m.sort_values(['sector', 'month'])",
        "SELECT month, sector, jobs FROM (UNPIVOT (SELECT month, construction, government, manufacturing FROM employment) "
        "ON construction, government, manufacturing INTO NAME sector VALUE jobs) WHERE month >= '2015-11-01' ORDER BY 2, 1",
        _sectors,
    ),
    Task(
        "mean measures",
        "For each species and measure the mean: species, measure, mean; by species and measure.",
        ("iris",),
        "d = iris.melt(id_vars='species', var_name='measure', value_name='mean')\n"
        "result = d.groupby(['species', 'measure'], as_index=False)['mean'].mean()",
        'SELECT species, measure, avg(v) AS "mean" FROM (UNPIVOT iris ON "petalLength", "petalWidth", "sepalLength", '
        '"sepalWidth" INTO NAME measure VALUE v) GROUP BY 1, 2 ORDER BY 1, 2',
        _measures,
    ),
    Task(
        "cylinders by origin",
        "A crosstab of origin and cylinders (3, 4, 5, 6, 8), 0 where there are none.",
        ("cars",),
        "import pandas as pd\nw = pd.crosstab(cars.Origin, cars.Cylinders).reset_index()\n"
        "w.columns = [str(c) for c in w.columns]\nresult = w",
        'SELECT "Origin", count(*) FILTER ("Cylinders" = 3) AS "3", count(*) FILTER ("Cylinders" = 4) AS "4", '
        'count(*) FILTER ("Cylinders" = 5) AS "5", count(*) FILTER ("Cylinders" = 6) AS "6", '
        'count(*) FILTER ("Cylinders" = 8) AS "8" FROM cars GROUP BY 1 ORDER BY 1',
        _cylinders,
    ),
)
