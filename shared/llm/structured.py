"""Structured answers: a JSON text against a model of it, whatever the provider promised."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from shared.llm.chat import ChatReply, Finish, JsonSchema
from shared.llm.json_text import AnswerUnreadable, parse

Model = TypeVar("Model", bound=BaseModel)

_MAX_ERRORS = 10


def schema_of(model: type[BaseModel], name: str | None = None) -> JsonSchema:
    """What a provider is told of the form."""
    return JsonSchema(name or model.__name__, model.model_json_schema())


def json_answer(reply: ChatReply, model: type[Model]) -> Model:
    """The answer as its model.

    Raises: AnswerUnreadable in words for the model: refused, cut off, no JSON, or not of the form.
    """
    if reply.finish is Finish.REFUSAL:
        raise AnswerUnreadable("the model refused to answer")
    if reply.finish is Finish.LENGTH:
        raise AnswerUnreadable("the answer was cut off: answer in fewer words")
    parsed = parse(reply.text)
    try:
        return model.model_validate(parsed.value)
    except ValidationError as error:
        raise AnswerUnreadable(f"the answer does not have the form that was asked for: {_words(error)}") from None


def _words(error: ValidationError) -> str:
    messages = [
        f"{'.'.join(map(str, each['loc'])) or 'the answer'}: {each['msg']}"
        for each in error.errors(include_url=False, include_input=False, include_context=False)
    ]
    more = f"; and {len(messages) - _MAX_ERRORS} more" if len(messages) > _MAX_ERRORS else ""
    return "; ".join(messages[:_MAX_ERRORS]) + more
