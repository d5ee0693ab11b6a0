"""An evaluation as one HTML file: tables, and a picture of the intervals; nothing is loaded from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from assay.commands.evaluation_table import failures, number, p_value, share
from shared.amounts import amount

View = Mapping[str, Any]

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #1a1a1a }
table { border-collapse: collapse; margin: 1rem 0 } th, td { padding: .3rem .7rem; text-align: left }
th { border-bottom: 2px solid #888 } td { border-bottom: 1px solid #ddd; font-variant-numeric: tabular-nums }
.cell { text-align: center } .why { display: block; font-size: .8em } svg { max-width: 100%; height: auto }
"""
_ROW, _LEFT, _WIDTH = 28, 260, 460


def page(view: View) -> str:
    """Return the whole report as HTML."""
    title = escape(f"{view['name']}: evaluation {view['id']}")
    sizes = {"case": len(view["cases"]), "variant": len(view["variants"]), "time": view["repeat"]}
    summary = ", ".join([view["state"], *(amount(count, noun) for noun, count in sizes.items())])
    parts = [
        f"<h1>{title}</h1><p>{escape(summary)}, begun {escape(str(view['created_at']))}</p>",
        "<h2>Success with its 95 % interval</h2>",
        picture(view["totals"]),
        _table(
            ["variant", "success", "turns", "tokens", "cost $", "seconds", "failures"],
            ([escape(str(cell)) for cell in _total(total)] for total in view["totals"]),
        ),
        "<h2>Cases</h2>",
        _matrix(view),
    ]
    if view["comparisons"]:
        parts += ["<h2>Differences</h2>", _comparisons(view["comparisons"])]
    if view.get("baseline"):
        parts += ["<h2>Against the baseline</h2>", _comparisons(view["baseline"])]
    if view["unstable"]:
        parts.append(f"<p>Unstable: {escape(', '.join(view['unstable']))}</p>")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
    policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    body = "\n".join(parts)
    return (
        f'<!doctype html><html lang="en"><head>{head}{policy}<style>{_STYLE}</style></head><body>{body}</body></html>'
    )


def picture(totals: Sequence[View]) -> str:
    """Draw each variant as a point with its interval, on one axis from 0 to 1."""
    height = _ROW * len(totals) + 40
    parts = []
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        parts.append(f'<line x1="{x:.1f}" y1="8" x2="{x:.1f}" y2="{height - 26}" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 8}" text-anchor="middle">{tenth / 10:.1f}</text>')
    for index, total in enumerate(totals):
        y = 22 + _ROW * index
        name = escape(total["variant"] if len(total["variant"]) <= 36 else f"{total['variant'][:35]}…")
        parts.append(f'<text x="{_LEFT - 14}" y="{y + 4}" text-anchor="end">{name}</text>')
        if not total["runs"]:
            continue
        low, high = total["interval"]
        line = f'x1="{_x(low):.1f}" y1="{y}" x2="{_x(high):.1f}" y2="{y}"'
        parts.append(f'<line {line} stroke="#2563a8" stroke-width="3"/>')
        parts.append(f'<circle cx="{_x(total["successes"] / total["runs"]):.1f}" cy="{y}" r="5" fill="#174a7c"/>')
    size = f'viewBox="0 0 {_LEFT + _WIDTH + 30} {height}" width="{_LEFT + _WIDTH + 30}" height="{height}"'
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Success" {size} font-size="13">'
    return f"{begin}{''.join(parts)}</svg>"


def _x(value: float) -> float:
    return _LEFT + value * _WIDTH


def _total(total: View) -> list[object]:
    return [
        total["variant"], share(total), number(total["turns"]), total["tokens"], number(total["cost_usd"], 4),
        number(total["seconds"], 2), failures(total),
    ]  # fmt: skip


def _matrix(view: View) -> str:
    names = [variant["name"] for variant in view["variants"]]
    rows: dict[str, list[str]] = {}
    for cell in view["cells"]:
        rows.setdefault(cell["case"], [f"<td>{escape(cell['case'])}</td>"]).append(_cell(cell))
    head = "".join(f"<th>{escape(name)}</th>" for name in ["case", *names])
    body = "".join(f"<tr>{''.join(cells)}</tr>" for cells in rows.values())
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: View) -> str:
    """Return a cell with its numbers, colored from red (never) over yellow to green (always)."""
    if not cell["runs"]:
        return f'<td class="cell">-<span class="why">{escape(failures(cell))}</span></td>'
    hue = round(120 * cell["successes"] / cell["runs"])
    why = f'<span class="why">{escape(failures(cell))}</span>' if cell["failures"] else ""
    style = f"background: hsl({hue} 60% 86%)"
    return f'<td class="cell" style="{style}">{cell["successes"]}/{cell["runs"]}{why}</td>'


def _comparisons(comparisons: Sequence[View]) -> str:
    rows = (
        [escape(each["a"]), escape(each["b"]), f"{each['difference']:+.2f}", p_value(each["p"])] for each in comparisons
    )
    return _table(["a", "b", "a - b", "p"], rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
