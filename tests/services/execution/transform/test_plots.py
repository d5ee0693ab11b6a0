"""A transform can end in a plot."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.services.execution.transform.support import Lab, python

CURVE = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot(data.a, data.b)\nresult = fig"
DATA = "a,b\n1,2\n2,3\n"


def test_a_figure_is_a_plot_and_a_table_is_not(lab: Lab) -> None:
    result = lab.transform(python("result = data"), python(CURVE), "DONE", data=DATA, output="plot")
    assert [one.outcome for one in result.iterations] == ["not_a_table", "result"]
    assert result.table is None
    assert result.plot_file_id is not None
    assert (lab.files.root / result.plot_file_id).read_bytes().startswith(b"\x89PNG")
    assert lab.files.infos[result.plot_file_id].media_type == "image/png"


def test_an_svg_is_a_plot_too(lab: Lab) -> None:
    code = "class P:\n    def _repr_svg_(self): return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\nresult = P()"
    result = lab.transform(python(code), data=DATA, output="plot", confirm="never")
    assert result.plot_file_id is not None
    assert lab.files.infos[result.plot_file_id].name == "plot.svg"


def test_a_plot_where_a_table_is_wanted_is_no_table(lab: Lab) -> None:
    result = lab.transform(python(CURVE), python("result = data.head(1)"), "DONE", data=DATA)
    assert [one.outcome for one in result.iterations] == ["not_a_table", "result"]


@pytest.mark.parametrize("more", [{"assertions": ["rows == 1"]}, {"language": "sql"}])
def test_a_plot_takes_no_assertions_and_no_sql(lab: Lab, more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        lab.transform(python(CURVE), data=DATA, output="plot", **more)
