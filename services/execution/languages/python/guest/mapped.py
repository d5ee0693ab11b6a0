"""A pandas frame that stands where its Arrow file is mapped: no copy until a column is written to."""

from __future__ import annotations

from typing import Any

_MOST_COLUMNS = 100  #: pandas is slow with more arrays than that; it copies them into few instead


def mapped_frame(source: Any, content: memoryview) -> Any:
    """The frame of the file in ``content``, a private mapping: its arrays can be written to like any others."""
    import numpy
    import pyarrow.ipc

    table = pyarrow.ipc.open_file(source).read_all()
    if table.num_columns > _MOST_COLUMNS:
        return _whole_inside(table.to_pandas(), table)
    frame = table.to_pandas(split_blocks=True)
    start = numpy.frombuffer(content, numpy.uint8).__array_interface__["data"][0]
    for block in frame._mgr.blocks:
        values = block.values
        if not isinstance(values, numpy.ndarray):
            block.values = values.copy()  # text shares its buffers with the table all the same
        elif not values.flags.writeable:
            offset = values.__array_interface__["data"][0] - start
            inside = values.flags.c_contiguous and 0 <= offset <= len(content) - values.nbytes
            block.values = _over(content, values, offset) if inside else values.copy()
    return _whole_inside(frame, table)


def _whole_inside(frame: Any, table: Any) -> Any:
    """Whole numbers within lists and structs stay whole beside missing ones."""
    from pyarrow import types

    for position, field in enumerate(table.schema):
        if types.is_nested(field.type):
            frame.isetitem(position, table.column(position).to_pandas(integer_object_nulls=True))
    return frame


def _over(content: memoryview, values: Any, offset: int) -> Any:
    import numpy

    return numpy.frombuffer(content, values.dtype, values.size, offset).reshape(values.shape)
