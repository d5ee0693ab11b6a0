"""What the properties of the API document mean, beyond what their models say of themselves.

Of a model's own words, a description of its field comes first, then the ``#:`` comment beside it, then this page: names
that mean the same wherever they stand.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from services.gateway.http.properties import KINDS_OF

_COMMENT = re.compile(r"^    (\w+)\s*:[^#\n]*#: (.+)$", re.MULTILINE)


def describe_properties(schemas: dict[str, Any]) -> None:
    """Give every property of the document a description that there is one for."""
    comments = _comments()
    for name, schema in schemas.items():
        own = comments.get(name, {})
        for field, part in schema.get("properties", {}).items():
            text = _PROPERTIES.get(f"{name}.{field}") or own.get(field) or _PROPERTIES.get(field)
            if text and isinstance(part, dict):
                part.setdefault("description", text)


@cache
def _comments() -> dict[str, dict[str, str]]:
    """The comments beside the fields of every contract, by class and field; of a class's bases, too."""
    modules: dict[str, dict[str, str]] = {}
    return {
        model.__name__: {
            field: text[0].upper() + text[1:]
            for each in reversed(model.__mro__)
            if issubclass(each, BaseModel) and each.__module__.startswith("shared.")
            for field, text in _COMMENT.findall(_source(each, modules))
        }
        for model in _models(BaseModel)
        if model.__module__.startswith("shared.")
    }


def _models(parent: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for child in parent.__subclasses__():
        yield child
        yield from _models(child)


def _source(model: type[BaseModel], modules: dict[str, dict[str, str]]) -> str:
    """The text of a class. A module is taken apart once: ``inspect.getsource`` would do so for each of its classes."""
    name = model.__module__
    if name not in modules:
        modules[name] = _classes(name)
    return modules[name].get(model.__name__, "")


def _classes(module: str) -> dict[str, str]:
    """The texts of a module's classes by name; none of one that was made while the program runs."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (KeyError, OSError, TypeError):
        return {}
    lines = source.splitlines(keepends=True)
    found = [each for each in ast.parse(source).body if isinstance(each, ast.ClassDef)]
    return {each.name: "".join(lines[each.lineno - 1 : each.end_lineno]) for each in found}


_PROPERTIES: Mapping[str, str] = {
    **KINDS_OF,
    "actor_name": "The name of that key, where it is known",
    "actor": "The id of the API key that did it",
    "alive": "Whether it has reported within the last six seconds",
    "assertions": "What has to hold for the result; see the page of transform",
    "at": "When, RFC 3339 in UTC",
    "attempt": "Counts from 1; higher after a worker died or a provider failed",
    "available": "Whether it can be used here",
    "batch_id": "The batch that the job was submitted with",
    "budget": "What the job may spend: turns, seconds, tokens; null is the installation's default",
    "cached_tokens": "Input tokens that the provider had cached",
    "calls": "Requests to models",
    "chain": "The models in the order in which they are asked",
    "code": "A stable code, as in /docs/errors, or program text where code runs",
    "columns": "The columns of a table, in their order",
    "complete": "Whether all of it was read; false when it is too large or broken",
    "conversation_id": "The conversation that the job belongs to; jobs of one conversation run one after the other",
    "cost_usd": "US dollars; null when a part of it has no known price",
    "cpu_ms": "Processor time in milliseconds",
    "created_at": "When it was made, RFC 3339 in UTC",
    "detail": "What happened and what to do about it, in words",
    "duplicates": "Rows that are there more than once",
    "edges": "The edges of a flow",
    "embedding": "The model of embeddings",
    "ended_last_hour": "Jobs that ended within the last hour",
    "error": "Why it failed; null otherwise",
    "errors": "What is wrong, one entry for each place",
    "events": "The address of the job's events, or the names of the events that are wanted",
    "exit_code": "Of the process; null when a signal ended it",
    "expires_at": "When it ends, RFC 3339 in UTC; null: never",
    "facets": "Texts by which a record is found, by their names",
    "failed": "Jobs that failed",
    "failed_last_hour": "Jobs that failed within the last hour",
    "failovers": "Answers that came from another model than the first of the chain",
    "fields": "Values of a record that can be filtered by",
    "file_id": "The id of an uploaded file",
    "files": "Files, by their ids",
    "filters": "Conditions on fields, all of which have to hold",
    "finish": "Why the model ended its answer",
    "finished_at": "When it ended, RFC 3339 in UTC; null before",
    "first_token_seconds": "Seconds until the first part of the answer",
    "format": "How the data is written",
    "http_status": "Of the provider's answer; null when there was none",
    "id": "An opaque text that names it",
    "input": "What the job is to do, by its kind",
    "input_tokens": "Tokens that were sent to models",
    "items": "The entries of this page",
    "job_attempt": "The attempt of the job at which it was asked",
    "job_id": "The id of a job",
    "jobs": "Jobs, in the order in which they were given",
    "key": "The name of an entry; of a new API key, the key itself, which is shown once",
    "key_id": "The id of an API key, which is no secret",
    "kind": "What it is: of a job, the kind that says how its input is run",
    "kinds": "Kinds of jobs",
    "label": "A text that is shown",
    "labels": "Names and values of the caller's own, to find jobs by",
    "language": "The programming language",
    "languages": "Programming languages and their versions",
    "limit": "The most there may be",
    "links": "Where more of it is found",
    "llm_calls": "Requests that reached a model's provider",
    "loc": "Where in the request, from the outside in",
    "locks": "Lock files with the package URLs that they pin",
    "media_type": "The type of the content, such as text/csv",
    "message": "What is said, in words",
    "messages": "The messages, the oldest first",
    "minimum": "The least that the operator accepts",
    "model": "The name of a model, as its provider knows it, or PROVIDER/MODEL",
    "models": "Models, or patterns of their names",
    "msg": "What is wrong there",
    "name": "The name that was given to it",
    "next_cursor": "Given as `cursor`, it leads to the next page; null on the last",
    "nodes": "The nodes of a flow",
    "nulls": "Missing values",
    "oldest_seconds": "Seconds that the oldest queued job has waited",
    "outcome": "What came of it",
    "output_tokens": "Tokens that models wrote",
    "overlap_seconds": "Seconds for which the old key stays good",
    "parameters": "Values by name; of a model, those of its calls, such as temperature",
    "path": "A path below the folder in question",
    "peak_memory_mb": "The most memory that was used, in megabytes",
    "position": "Where it stands; in a queue, 1 is the next",
    "priority": "0 to 9; 9 goes first among the tenant's own jobs",
    "prompt": "The prompt that was used, and its version",
    "prompt_version": "The version of the prompt that is to be used",
    "provider": "The provider of a model, such as groq",
    "queue_seconds": "Seconds for which it waited for a place at its provider",
    "queued": "Jobs that wait",
    "question": "What is asked, up to 8,000 characters",
    "reason": "Why, in words; null when there is nothing to say",
    "replayed_from": "The job whose input it runs again",
    "reproducible": "Whether models are asked with temperature 0 and a fixed seed",
    "request_id": "Of the request, as in the logs and in X-Request-ID",
    "requested": "The model that the chain asks first",
    "requests_per_minute": "Requests of the tenant in a minute; 0 is no limit",
    "result": "What came of the job, by its kind; null before it has succeeded",
    "retry_at": "When it is tried again, RFC 3339 in UTC",
    "revoked_at": "When it was revoked; null while it is good",
    "role": "What a model is asked for, such as execution.transform, or who says a message",
    "roles": "What models are asked for",
    "row_count": "How many rows there are",
    "rows": "Rows of a table, or how many there are",
    "running": "Jobs that run",
    "running_jobs": "Jobs of one kind that may run at once; 0 is no limit",
    "scopes": "What a key may do: read, write, tenant_admin, admin",
    "score": "What hits are ordered by: 0 to 1 in mode master, 0 to 10 in mode faceted",
    "seconds": "How long it took or may take, in seconds",
    "secret": "A secret, whsec_ and base64",
    "seen_at": "When it last reported, RFC 3339 in UTC",
    "served": "The model that answered; null when none did",
    "service": "The service that it belongs to",
    "sha256": "The SHA-256 of the content, in hexadecimal digits",
    "size": "In bytes",
    "source": "Who answered or where it came from: live, replay or scripted for models; of endpoints: where set",
    "started_at": "When it began to run, RFC 3339 in UTC; null before",
    "state": "The state it is in",
    "status": "The HTTP status of an error, or how something ended",
    "stderr": "What was written to standard error",
    "stdin": "What the program reads from standard input",
    "stdout": "What was written to standard output",
    "storage_bytes": "Bytes that the tenant's files may have",
    "streams": "Event streams that one key may have open",
    "submitted_last_hour": "Jobs that were submitted within the last hour",
    "succeeded": "Jobs that succeeded",
    "success": "Whether all of it was done",
    "summary": "What it is about, in a line",
    "table": "The name of a table",
    "tables": "Tables by name",
    "task": "What is to be done, in words",
    "tenant": "Whose it is",
    "text": "The text itself",
    "time": "When, RFC 3339 in UTC",
    "title": "What it is about, in a line",
    "tokens": "Tokens of models, in and out",
    "tokens_per_day": "Tokens of models that the tenant may use in a day; 0 is no limit",
    "total": "How many there are in all",
    "traceback": "Where the program failed",
    "truncated": "Whether something was left out because it was too long",
    "turn": "The turn of the job, from 1",
    "turns": "How often a model was asked, or may be",
    "type": "What kind of entry it is; of a problem, where its code is explained",
    "updated_at": "When it was last changed, RFC 3339 in UTC",
    "url": "An address, http or https",
    "usage": "What it has used",
    "used": "How much of it is used",
    "until": "The end of the time in question, RFC 3339 in UTC",
    "variables": "Names that the text may use, or values by name",
    "verdict": "What the result calls itself, such as ok or found",
    "version": "A number or name that changes with every change",
    "waiting": "Why a queued job does not run yet; null when it does not wait",
    "wall_ms": "Elapsed time in milliseconds",
    "warnings": "What the caller should know of it, in words",
    "webhook": "Where to tell that the job has ended",
    "worker_id": "The worker that runs it, or ran it last",
    "workers": "Workers that are alive",
}
