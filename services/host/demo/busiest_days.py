"""Which days moved the price most? Runs inside Assay's sandbox, next to msft.csv."""

import csv

with open("msft.csv", newline="") as file:
    days = list(csv.DictReader(file))

moves = [(float(day["Close"]) / float(day["Open"]) - 1, day["Date"]) for day in days]
for move, date in sorted(moves, key=lambda pair: -abs(pair[0]))[:3]:
    print(f"{date}  {move:+.1%}")  # noqa: T201

len(days)
