"""What is wrong with a value, in plain words that follow its field's name: the one place that words pydantic's errors.

It imports nothing, so that the command line can use it without the cost of pydantic.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shared.amounts import amount

#: What an error's text starts with when it continues a sentence that begins with the field's name.
_PREDICATES = ("is ", "must ")
_FORMS: dict[str, str] = {}
#: Error types of pydantic that mean the same to a person, and the words for them; ``{}`` fields are of their context.
_GROUPS = {
    "missing missing_argument missing_keyword_only_argument missing_positional_only_argument union_tag_not_found": (
        "is missing"
    ),
    "extra_forbidden unexpected_keyword_argument unexpected_positional_argument": "is not known",
    "multiple_argument_values": "is given twice",
    "frozen_field frozen_instance": "is fixed and cannot be changed",
    "dict_type mapping_type model_type model_attributes_type dataclass_type arguments_type frozen_dict_type "
    "ordered_dict_type counter_type": 'must be an object, such as {{"name": "value"}}',
    "list_type tuple_type set_type frozen_set_type deque_type iterable_type iteration_error named_tuple_type": (
        "must be a list"
    ),
    "set_item_not_hashable": "must be a list of texts or numbers",
    "string_type string_sub_type bytes_type": "must be text",
    "string_unicode bytes_invalid_encoding": "must be text in UTF-8",
    "string_not_ascii": "must have only the letters of English, digits and signs",
    "invalid_key": "must have text as the name of each field",
    "bool_type bool_parsing": "must be true or false",
    "int_type int_parsing int_from_float": "must be a whole number",
    "int_parsing_size": "must be a whole number with fewer digits",
    "float_type float_parsing decimal_type decimal_parsing fraction_type fraction_parsing complex_type "
    "complex_str_parsing": "must be a number",
    "finite_number": "must be a number, and not infinite",
    "decimal_max_digits": "must have at most {max_digits} digits",
    "decimal_max_places": "must have at most {decimal_places} digits after the decimal point",
    "decimal_whole_digits": "must have at most {whole_digits} digits before the decimal point",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    "union_tag_invalid": "must be one of {expected_tags}",
    "none_required": "must be null",
    "date_type date_parsing date_from_datetime_parsing date_from_datetime_inexact": (
        "must be a date, such as 2030-01-31"
    ),
    "datetime_type datetime_parsing datetime_object_invalid datetime_from_date_parsing": (
        "must be a time, such as 2030-01-31T12:00:00Z"
    ),
    "timezone_aware timezone_offset": "must be a time with its offset, such as 2030-01-31T12:00:00Z",
    "timezone_naive": "must be a time without an offset, such as 2030-01-31T12:00:00",
    "time_type time_parsing": "must be a time of day, such as 12:30:00",
    "time_delta_type time_delta_parsing": "must be a duration in seconds",
    "date_past datetime_past": "must be in the past",
    "date_future datetime_future": "must be in the future",
    "url_type url_parsing url_syntax_violation": "must be a URL, such as https://example.com/path",
    "url_scheme": "must be a URL that begins with {expected_schemes}",
    "uuid_type uuid_parsing uuid_version": "must be an id such as 123e4567-e89b-42d3-a456-426614174000",
    "json_type json_invalid": "must be JSON",
    "recursion_loop recursion_depth_exceeded": "is nested too deeply",
    "no_such_attribute get_attribute_error needs_python_object default_factory_not_called is_instance_of "
    "is_subclass_of callable_type dataclass_exact_type missing_sentinel_error ellipsis_error": "is of a wrong type",
}
_WORDS = {kind: words for kinds, words in _GROUPS.items() for kind in kinds.split()}
#: Error types about a length: the unit that is counted, and the limit's name in the context.
_LENGTHS = {
    "too_short": ("item", "min_length"), "too_long": ("item", "max_length"),
    "string_too_short": ("character", "min_length"), "string_too_long": ("character", "max_length"),
    "bytes_too_short": ("byte", "min_length"), "bytes_too_long": ("byte", "max_length"),
    "url_too_long": ("character", "max_length"),
}  # fmt: skip


def form(pattern: str, words: str) -> str:
    """Return the pattern, for pydantic; a text that does not match it is answered with these words."""
    _FORMS[pattern] = words
    return pattern


def worded(error: Mapping[str, Any]) -> str:
    """Return what is wrong, as in ``must be a whole number``, from an error of ``ValidationError.errors()``.

    An error of a validator of ours keeps its own text.
    """
    kind, context = str(error["type"]), error.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        return _FORMS.get(str(context.get("pattern")), "is not of the form that this field has")
    if kind in _LENGTHS:
        noun, limit = _LENGTHS[kind]
        size = int(context[limit])
        if limit == "max_length":
            return f"must have at most {amount(size, noun)}"
        return "must not be empty" if size == 1 else f"must have at least {amount(size, noun)}"
    if kind in ("literal_error", "enum"):
        expected = str(context["expected"])
        return f"must be one of {expected}" if " or " in expected else f"must be {expected}"
    if kind in _WORDS:
        return _WORDS[kind].format_map({name: _plain(value) for name, value in context.items()})
    return str(error["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")


def field_fault(field: str, words: str) -> str:
    """Return ``input is missing`` for words that continue a sentence, else ``input: the words``."""
    if not field:
        return words
    return f"{field} {words}" if words.startswith(_PREDICATES) else f"{field}: {words}"


def _plain(value: object) -> object:
    """Return 10 for 10.0: a limit is shown as it was written."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: Forms that several contracts have.
NAME = form(
    r"^[a-z0-9][a-z0-9_-]{0,62}$", "must begin with a-z or 0-9, and have at most 63 lowercase letters, digits, - and _"
)
DOTTED_NAME = form(
    r"^[a-z0-9][a-z0-9._-]{0,62}$",
    "must begin with a-z or 0-9, and have at most 63 lowercase letters, digits, ., - and _",
)
VARIABLE = form(
    r"^[A-Za-z][A-Za-z0-9_]{0,63}$", "must begin with a letter of a-z, and have at most 64 letters, digits and _"
)
PROMPT_VERSION = form(
    r"^[A-Za-z0-9_.-]{1,100}@[0-9]{1,9}$", "must be KEY@VERSION, such as execution.transform@2 (`assay prompts ls`)"
)
