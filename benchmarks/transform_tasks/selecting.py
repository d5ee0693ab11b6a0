"""Filters, sorting, top-n, strings."""

from __future__ import annotations

from benchmarks.transform_tasks.task import Cells, Task, groups, table


def _wet_days() -> Cells:
    wet = [row for row in table("weather") if row["weather"] == "rain" and row["precipitation"] > 30]
    return [[row["date"].replace("/", "-"), row["precipitation"]] for row in wet]


def _frost_and_wind() -> Cells:
    return [[sum(row["temp_min"] < 0 and row["wind"] >= 5 for row in table("weather"))]]


def _washington() -> Cells:
    return [[row["iata"], row["name"]] for row in table("airports") if row["state"] == "WA"][:10]


def _light_cars() -> Cells:
    light = [row for row in table("cars") if row["Origin"] == "Europe" and row["Weight_in_lbs"] < 1900]
    return sorted([row["Name"], row["Weight_in_lbs"]] for row in light)


def _no_mileage() -> Cells:
    return [[row["Name"], row["Origin"]] for row in table("cars") if row["Miles_per_Gallon"] is None]


def _hottest() -> Cells:
    days = sorted(table("weather"), key=lambda row: (-row["temp_max"], row["date"]))[:5]
    return [[row["date"].replace("/", "-"), row["temp_max"]] for row in days]


def _heaviest() -> Cells:
    rows: Cells = []
    for origin, cars in sorted(groups(table("cars"), "Origin").items()):
        top = sorted(cars, key=lambda row: (-row["Weight_in_lbs"], row["Name"]))[:2]
        rows += [[origin, row["Name"], row["Weight_in_lbs"]] for row in top]
    return rows


def _makes() -> Cells:
    counts = groups([{"make": row["Name"].split()[0]} for row in table("cars")], "make")
    return [[make, len(rows)] for make, rows in sorted(counts.items(), key=lambda item: (-len(item[1]), item[0]))[:5]]


def _international() -> Cells:
    counts = groups([row for row in table("airports") if "International" in row["name"]], "state")
    top = sorted(((state, len(rows)) for state, rows in counts.items() if state), key=lambda pair: (-pair[1], pair[0]))
    return [[state, count] for state, count in top[:3]]


def _full_names() -> Cells:
    names = sorted(f"{row['last_name'].upper()}, {row['first_name']}" for row in table("riots") if row["first_name"])
    return [[name] for name in names[:5]]


TASKS = (
    Task(
        "wet days",
        "Days with weather rain and precipitation above 30: date and precipitation, by date.",
        ("weather",),
        "d = weather[(weather.weather == 'rain') & (weather.precipitation > 30)]\n"
        "result = d.sort_values('date')[['date', 'precipitation']]",
        "SELECT date, precipitation FROM weather WHERE weather = 'rain' AND precipitation > 30 ORDER BY date",
        _wet_days,
        polars="import polars as pl\nresult = (weather.filter((pl.col('weather') == 'rain') & "
        "(pl.col('precipitation') > 30)).sort('date').select('date', 'precipitation'))",
        r="result <- weather |> dplyr::filter(weather == 'rain', precipitation > 30) |> dplyr::arrange(date) |> "
        "dplyr::select(date, precipitation)",
    ),
    Task(
        "frost and wind",
        "How many days had a minimum below 0 and wind of at least 5? One column days.",
        ("weather",),
        "import pandas as pd\n"
        "result = pd.DataFrame({'days': [int(((weather.temp_min < 0) & (weather.wind >= 5)).sum())]})",
        "SELECT count(*) AS days FROM weather WHERE temp_min < 0 AND wind >= 5",
        _frost_and_wind,
    ),
    Task(
        "airports in Washington",
        "The first ten airports in the state WA: iata and name.",
        ("airports",),
        "result = airports.loc[airports.state == 'WA', ['iata', 'name']].head(10)",
        "SELECT iata, name FROM airports WHERE state = 'WA' LIMIT 10",
        _washington,
    ),
    Task(
        "light European cars",
        "European cars under 1900 pounds: name and weight, by name and weight.",
        ("cars",),
        "d = cars[(cars.Origin == 'Europe') & (cars.Weight_in_lbs < 1900)]\n"
        "result = d[['Name', 'Weight_in_lbs']].sort_values(['Name', 'Weight_in_lbs'])",
        'SELECT "Name", "Weight_in_lbs" FROM cars WHERE "Origin" = \'Europe\' AND "Weight_in_lbs" < 1900 ORDER BY 1, 2',
        _light_cars,
    ),
    Task(
        "cars without mileage",
        "Cars whose mileage is missing: name and origin, in the order of the table.",
        ("cars",),
        "result = cars.loc[cars.Miles_per_Gallon.isna(), ['Name', 'Origin']]",
        'SELECT "Name", "Origin" FROM cars WHERE "Miles_per_Gallon" IS NULL',
        _no_mileage,
        polars="import polars as pl\nresult = cars.filter(pl.col('Miles_per_Gallon').is_null()).select('Name', 'Origin')",
    ),
    Task(
        "hottest days",
        "The five hottest days: date and temp_max; the earlier day first when they are equally hot.",
        ("weather",),
        "result = weather.sort_values(['temp_max', 'date'], ascending=[False, True]).head(5)[['date', 'temp_max']]",
        "SELECT date, temp_max FROM weather ORDER BY temp_max DESC, date LIMIT 5",
        _hottest,
        polars="result = weather.sort(['temp_max', 'date'], descending=[True, False]).head(5)"
        ".select('date', 'temp_max')",
    ),
    Task(
        "heaviest of each origin",
        "The two heaviest cars of each origin: origin, name, weight; by origin, heaviest first, ties by name.",
        ("cars",),
        "d = cars.sort_values(['Origin', 'Weight_in_lbs', 'Name'], ascending=[True, False, True])\n"
        "result = d.groupby('Origin').head(2)[['Origin', 'Name', 'Weight_in_lbs']]",
        'SELECT "Origin", "Name", "Weight_in_lbs" FROM cars QUALIFY row_number() OVER (PARTITION BY "Origin" '
        'ORDER BY "Weight_in_lbs" DESC, "Name") <= 2 ORDER BY 1, 3 DESC, 2',
        _heaviest,
    ),
    Task(
        "makes of cars",
        "The five most frequent makes (first word of the name) and their counts; ties by name.",
        ("cars",),
        "d = cars.Name.str.split().str[0].value_counts().rename_axis('make').reset_index(name='cars')\n"
        "result = d.sort_values(['cars', 'make'], ascending=[False, True]).head(5)",
        "SELECT split_part(\"Name\", ' ', 1) AS make, count(*) AS cars FROM cars GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
        _makes,
    ),
    Task(
        "international airports",
        "The three states with the most airports that have International in their name, with counts; ties by state.",
        ("airports",),
        "d = airports[airports.name.str.contains('International')].groupby('state').size().reset_index(name='n')\n"
        "result = d.sort_values(['n', 'state'], ascending=[False, True]).head(3)",
        "SELECT state, count(*) AS n FROM airports WHERE name LIKE '%International%' AND state IS NOT NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3",
        _international,
    ),
    Task(
        "full names",
        "Names as LAST, First, in one column full_name: the first five in alphabetical order.",
        ("riots",),
        "d = riots.dropna(subset=['first_name'])\n"
        "s = d.last_name.str.upper() + ', ' + d.first_name\n"
        "result = s.sort_values().head(5).to_frame('full_name')",
        "SELECT upper(last_name) || ', ' || first_name AS full_name FROM riots WHERE first_name IS NOT NULL "
        "ORDER BY 1 LIMIT 5",
        _full_names,
    ),
)
