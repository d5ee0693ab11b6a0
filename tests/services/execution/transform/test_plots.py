"""A transform can end in a plot."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.services.execution.transform.support import TransformJobs, python

CURVE = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots()\nax.plot(data.a, data.b)\nresult = fig"
DATA = "a,b\n1,2\n2,3\n"


@pytest.mark.slow
def test_a_figure_is_a_plot_and_a_table_is_not(jobs: TransformJobs) -> None:
    result = jobs.transform(python("result = data"), python(CURVE), "DONE", data=DATA, output="plot")
    assert [one.outcome for one in result.iterations] == ["not_a_table", "result"]
    assert result.table is None
    assert result.plot_file_id is not None
    assert jobs.files.contents[result.plot_file_id][1].startswith(b"\x89PNG")
    assert jobs.files.info(result.plot_file_id).media_type == "image/png"


def test_an_svg_is_a_plot_too(jobs: TransformJobs) -> None:
    code = "class P:\n    def _repr_svg_(self): return '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\nresult = P()"
    result = jobs.transform(python(code), data=DATA, output="plot", confirm="never")
    assert result.plot_file_id is not None
    assert jobs.files.info(result.plot_file_id).name == "plot.svg"


@pytest.mark.slow
def test_a_plot_where_a_table_is_wanted_is_no_table(jobs: TransformJobs) -> None:
    result = jobs.transform(python(CURVE), python("result = data.head(1)"), "DONE", data=DATA)
    assert [one.outcome for one in result.iterations] == ["not_a_table", "result"]


@pytest.mark.parametrize("more", [{"assertions": ["rows == 1"]}, {"language": "sql"}])
def test_a_plot_takes_no_assertions_and_no_sql(jobs: TransformJobs, more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        jobs.transform(python(CURVE), data=DATA, output="plot", **more)
