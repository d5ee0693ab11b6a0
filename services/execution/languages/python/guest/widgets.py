"""``ipywidgets`` as notebooks use it, without a browser: a control has a value and shows it, ``interact`` runs once.

https://ipywidgets.readthedocs.io/en/stable/examples/Using%20Interact.html
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from services.execution.languages.python.guest.ipython import display

_VIEW = "application/vnd.jupyter.widget-view+json"
_SHOWN = ("description", "value", "children")
_LEAST_PAIR, _MAX_PAIR = 2, 3  #: numbers of an abbreviation such as (0, 10) or (0, 10, 2)


class Widget:
    """A control, with whatever options its notebook gives it."""

    value: Any = None

    def __init__(self, *values: Any, **options: Any) -> None:
        name = "children" if values and isinstance(values[0], (list, tuple)) else "value"
        self.children: Any = ()
        self.__dict__.update(dict.fromkeys((name,), values[0]) if values else {}, **options)
        if self.value is None:
            self.value = self._default()

    def _default(self) -> Any:
        """Return the value that a control of this kind begins with."""
        kind, held = type(self).__name__, self.__dict__
        if held.get("options"):
            return _first(held["options"])
        if "Slider" in kind or "Progress" in kind or (kind.endswith("Text") and kind != "Text"):
            return held.get("min", 0)
        return False if kind in ("Checkbox", "ToggleButton", "Valid") else "" if "Text" in kind else None

    def observe(self, *_arguments: Any, **_options: Any) -> None:
        """Accept a function, which nothing calls: no one moves the control."""

    unobserve = on_click = on_submit = on_msg = close = set_trait = observe

    def __enter__(self) -> Widget:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def __repr__(self) -> str:
        held = self.__dict__
        shown = [f"{name}={held[name]!r}" for name in _SHOWN if held.get(name) not in (None, "", ())]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        """Return the HTML of a control that shows HTML, and the text of others."""
        if type(self).__name__ in ("HTML", "HTMLMath"):
            return {"text/html": str(self.value), "text/plain": repr(self)}
        return {"text/plain": repr(self), _VIEW: {}}


class Output(Widget):
    """What is shown within it is shown in its place."""

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        return {"text/plain": ""}

    def capture(self, *_arguments: Any, **_options: Any) -> Callable[[Any], Any]:
        """Return a decorator that changes nothing."""
        return lambda function: function

    def clear_output(self, *_arguments: Any, **_options: Any) -> None:
        """Accept it: nothing is held back."""


class fixed(Widget):  # noqa: N801 - its name
    """A value that has no control."""


def interact(function: Any = None, **controls: Any) -> Any:
    """Call the function once, with the values that its controls begin with; also as a decorator."""
    if function is None:
        return functools.partial(interact, **controls)
    shown = function(**_values(function, controls))
    if shown is not None:
        display(shown)
    return function


def interact_manual(function: Any = None, **controls: Any) -> Any:
    """Call nothing: it waits for a button."""
    return functools.partial(interact_manual, **controls) if function is None else function


def interactive(function: Any, *_options: Any, **controls: Any) -> Widget:
    """Return the controls, with the ``result`` of the function at their first values."""
    values = _values(function, controls)
    made = Widget(children=[Widget(value=value, description=name) for name, value in values.items()])
    made.kwargs, made.result = values, function(**values)  # type: ignore[attr-defined]
    return made


def interactive_output(function: Any, controls: dict[str, Any]) -> Output:
    """Call the function once, with the values of the controls."""
    function(**{name: _first(control) for name, control in controls.items()})
    return Output()


def _values(function: Any, controls: dict[str, Any]) -> dict[str, Any]:
    try:
        parameters = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        parameters = {}
    empty: Any = inspect.Parameter.empty
    defaults = {name: each.default for name, each in parameters.items() if each.default is not empty}
    return {name: _first(value) for name, value in {**defaults, **controls}.items()}


def _first(control: Any) -> Any:
    """Return the value that a control, or the abbreviation of one, begins with."""
    if isinstance(control, Widget):
        return control.value
    if isinstance(control, tuple) and _LEAST_PAIR <= len(control) <= _MAX_PAIR:
        numbers: list[Any] = [each for each in control if type(each) in (int, float)]
        if len(numbers) == len(control):
            step = (numbers[1] - numbers[0]) / 2
            return numbers[0] + (step if float in map(type, numbers) else int(step // 1))
    if isinstance(control, dict):
        return next(iter(control.values()), None)
    if isinstance(control, (list, tuple, range)):
        first: Any = next(iter(control), None)
        return first[1] if isinstance(first, tuple) and len(first) == _LEAST_PAIR else first
    return control


def _nothing(*_arguments: Any, **_options: Any) -> None:
    """Accept what only joins controls."""


_KNOWN: dict[str, Any] = {
    "Widget": Widget, "DOMWidget": Widget, "Output": Output, "fixed": fixed, "interact": interact,
    "interact_manual": interact_manual, "interactive": interactive, "interactive_output": interactive_output,
    "link": _nothing, "jslink": _nothing, "dlink": _nothing, "jsdlink": _nothing, "__version__": "8.0.0",
}  # fmt: skip


_BARS = {"tqdm": "tqdm", "tqdm_notebook": "tqdm", "trange": "trange", "tnrange": "trange"}
_KNOWN["__all__"] = [
    *(name for name in _KNOWN if name[0] != "_"), "Accordion", "Box", "Button", "Checkbox", "Dropdown", "FloatProgress",
    "FloatSlider", "FloatText", "GridBox", "HBox", "HTML", "HTMLMath", "Image", "IntProgress", "IntSlider", "IntText",
    "Label", "Layout", "Play", "RadioButtons", "Select", "SelectMultiple", "Tab", "Text", "Textarea", "ToggleButton",
    "ToggleButtons", "VBox",
]  # fmt: skip


def _named(name: str) -> Any:
    """Return the kind of control of this name. Raises: AttributeError for what cannot be one."""
    if not name[:1].isupper():
        raise AttributeError(f"module 'ipywidgets' has no attribute {name!r} here")
    made = _KNOWN[name] = type(name, (Widget,), {"__module__": "ipywidgets"})
    return made


def _of_terminal(name: str) -> Any:
    """Return a bar of tqdm that is written as text."""
    std: Any = importlib.import_module("tqdm.std")

    if name not in _BARS:
        raise AttributeError(f"module 'tqdm.notebook' has no attribute {name!r} here")
    return getattr(std, _BARS[name])


def install() -> None:
    """Make ``ipywidgets`` importable where it is not installed, and ``tqdm.notebook`` without it."""
    if importlib.util.find_spec("ipywidgets") is not None:
        return
    for name, attributes, others in (
        ("ipywidgets", _KNOWN, _named), ("ipywidgets.widgets", _KNOWN, _named), ("tqdm.notebook", {}, _of_terminal),
    ):  # fmt: skip
        module = types.ModuleType(name, "A small part of it, for code that runs in Assay.")
        module.__dict__.update(attributes)
        module.__dict__["__getattr__"] = others
        sys.modules[name] = module
    sys.modules["ipywidgets"].__path__ = []
    sys.modules["ipywidgets"].widgets = sys.modules["ipywidgets.widgets"]  # type: ignore[attr-defined]
