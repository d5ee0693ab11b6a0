"""`assay prompts`, `assay models`, `assay providers`, and `assay api` for any request."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import rest
from assay.calls.call import without_none
from assay.commands import show
from assay.commands.ids import job_id_of
from assay.commands.run import pair, text_of
from assay.commands.session import UsageError, answer, confirmed, current

prompts = App(name="prompts", help="Prompts that are sent to models.")
models = App(name="models", help="Which models are called, in which order.")


_GatedBy = Annotated[Path | None, Parameter(help="Only if this suite of evaluations passes")]
_Required = Annotated[float, Parameter(help="The share of its runs that has to succeed")]


@prompts.command(name="ls")
def list_prompts() -> None:
    """List prompts and which version is in force."""
    columns = ["key", "version", "default", "updated"]
    answer(
        rest.prompts(),
        show.listing(columns, _prompt),
    )


@prompts.command(name="get")
def get_prompt(key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")]) -> None:
    """Print a prompt."""
    answer(rest.prompt(key), lambda prompt: str(prompt["text"]))


@prompts.command(name="set")
def set_prompt(
    key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")],
    file: Annotated[str, Parameter(help="The new text; - is standard input", allow_leading_hyphen=True)],
    *,
    note: Annotated[str | None, Parameter(help="Why, for the list of versions")] = None,
) -> None:
    """Make a file the new version of a prompt."""
    text = sys.stdin.read() if file == "-" else text_of(Path(file))
    answer(rest.set_prompt(key, text, note=note), _version)


@prompts.command(name="test")
def try_prompt(
    key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")],
    source: Annotated[str | None, Parameter(name="FILE", help="The text; else the one in use")] = None,
    *,
    job: Annotated[
        str | None, Parameter(converter=job_id_of, help="With the words of this job's latest call with the prompt")
    ] = None,
    variable: Annotated[Sequence[str], Parameter(help="NAME=VALUE", negative="")] = (),
    message: Annotated[str | None, Parameter(help="What the user says")] = None,
    model: Annotated[str | None, Parameter(help="PROVIDER/MODEL to call")] = None,
) -> int:
    """Call a model with a text that is not in use yet, and print its answer."""
    text = None if source is None else text_of(Path(source))
    variables = dict(pair(each) for each in variable)
    session = current()
    call = rest.try_prompt(key, text, job_id=job, variables=variables, message=message, model=model)
    tried = session.client.fetch(call)
    session.show(tried, lambda _: str(tried["answer"] or json.dumps(tried["tool_calls"])))
    if not tried["ok"]:
        session.warn(str(tried["error"]))
    return 0 if tried["ok"] else 1


@prompts.command(name="label")
def label_prompt(
    key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")],
    label: Annotated[str, Parameter(help="Label, such as production")],
    version: Annotated[int | None, Parameter(help="Without it the label goes")] = None,
) -> None:
    """Name a version of a prompt."""
    answer(rest.label_prompt(key, label, version), lambda _: f"{label}: {version or 'no version'}")


@prompts.command(name="publish")
def publish_prompt(
    key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")],
    source: Annotated[str, Parameter(name="FILE", help="The new text, or the number of a version")],
    *,
    gated_by: _GatedBy = None,
    require: _Required = 1.0,
) -> int:
    """Use a text or a version; with --gated-by only if the suite passes with it, else it stays a draft."""
    version = int(source) if source.isdecimal() else None
    if version is None:
        version = int(current().client.send(rest.draft_prompt(key, text_of(Path(source)))).version)
    evaluation = None
    if gated_by is not None:
        from assay.commands.evaluate import gate  # noqa: PLC0415 - imports the contracts

        evaluation = gate(gated_by, {"prompt": f"{key}@{version}"}, require)
        if evaluation is None:
            current().warn(f"{key} version {version} is not published")
            return 1
    answer(rest.publish_prompt(key, version, evaluation, require if evaluation else None), _version)
    return 0


@prompts.command(name="versions")
def prompt_versions(key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")]) -> None:
    """List the versions of a prompt."""
    columns = ["key", "version", "default", "updated", "passed"]
    answer(rest.prompt_versions(key), show.listing(columns, lambda prompt: [*_prompt(prompt), _passed(prompt)]))


@prompts.command(name="rollback")
def roll_back_prompt(
    key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")],
    version: Annotated[int, Parameter(help="Version number")],
) -> None:
    """Make an old version the new one."""
    answer(rest.roll_back_prompt(key, version), _version)


@prompts.command(name="reset")
def reset_prompt(key: Annotated[str, Parameter(help="Prompt key, such as execution.transform")]) -> None:
    """Return to the text that came with Assay."""
    answer(rest.reset_prompt(key), _version)


@models.command(name="ls")
def list_models(
    *, all: Annotated[bool, Parameter(help="Every model that is known, and what it can do", negative="")] = False
) -> None:
    """List roles and the models that are called for them."""
    answer(rest.models(), _available if all else _roles)


@models.command(name="set")
def set_chain(
    role: Annotated[str, Parameter(help="Role, such as execution.transform")],
    *model: Annotated[str, Parameter(help="PROVIDER/MODEL, the first is called first")],
    parameter: Annotated[
        Sequence[str], Parameter(name=["-p", "--parameter"], help="NAME=VALUE, of every model's calls", negative="")
    ] = (),
    max_tokens: Annotated[int | None, Parameter(help="The most tokens of an answer")] = None,
    effort: Annotated[str | None, Parameter(help="How much they reason: none, low, medium, high")] = None,
    prompting: Annotated[
        Literal["examples", "plain"] | None,
        Parameter(help="Prompt them briefly with solved examples, or in full (default: by their size)"),
    ] = None,
    gated_by: _GatedBy = None,
    require: _Required = 1.0,
) -> int:
    """Set the models of a role, and the parameters of their calls: `--max-tokens 500 -p temperature=0`."""
    named = {"max_tokens": max_tokens, "reasoning_effort": effort}
    parameters = dict(_parameter(each) for each in parameter)
    parameters |= {name: value for name, value in named.items() if value is not None}
    chain = []
    for each in model:
        provider, slash, name = each.partition("/")
        if not slash or not provider or not name:
            raise UsageError(f"{each!r} is not PROVIDER/MODEL")
        chain.append(without_none(provider=provider, model=name, parameters=parameters, prompting=prompting))
    if not chain:
        raise UsageError("name at least one PROVIDER/MODEL")
    evaluation = None
    if gated_by is not None:
        from assay.commands.evaluate import gate  # noqa: PLC0415 - imports the contracts

        evaluation = gate(gated_by, {"model": model[0]}, require)
        if evaluation is None:
            current().warn(f"the models of {role} stay as they are")
            return 1
    answer(rest.set_chain(role, chain, evaluation, require if evaluation else None), lambda _: None)
    return 0


def _parameter(text: str) -> tuple[str, Any]:
    """Split NAME=VALUE; the value is parsed as JSON if possible, else it is a text."""
    name, value = pair(text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


@models.command(name="test")
def test_model(role: Annotated[str, Parameter(help="Role, such as execution.transform")]) -> int:
    """Send a short test message to the models of a role."""
    answer = current().client.fetch(rest.test_model(role))
    current().show(answer, _test)
    return 0 if answer.get("ok") else 1


@models.command(name="release")
def release_provider(provider: Annotated[str, Parameter(help="Provider, such as groq")]) -> None:
    """Allow calls to a provider again, whatever the state of its breaker."""
    answer(rest.release_provider(provider), lambda each: f"{each['name']} {each['state']}")


@models.command(name="reset")
def reset_models(
    role: Annotated[str | None, Parameter(help="Only this role; else every role")] = None,
    *,
    yes: Annotated[bool, Parameter(name=["-y", "--yes"], help="Skip the confirmation", negative="")] = False,
) -> int:
    """Return to the models that came with Assay, for one role or for all: `assay models reset search.answer`."""
    session = current()
    of = "every role" if role is None else role
    if role is None and not confirmed("Reset the models of every role, for the whole installation?", yes=yes):
        session.warn("Nothing was changed.")
        return 1
    session.show(
        session.client.fetch(rest.reset_models() if role is None else rest.reset_role(role)),
        lambda _: f"the models of {of} are the defaults again",
    )
    return 0


def providers() -> None:
    """List model providers, whether they have a key, and their state."""
    columns = ["name", "configured", "state", "until", "last error"]
    answer(
        rest.providers(),
        lambda page: show.table(
            columns,
            [
                [each["name"], each["configured"], each["state"], each.get("until"), each.get("last_error")]
                for each in show.items(page)
            ],
        ),
    )


def _prompt(prompt: dict[str, Any]) -> list[object]:
    return [prompt["key"], prompt["version"], prompt["is_default"], show.clock(prompt.get("updated_at"))]


def _version(prompt: Any) -> str:
    return f"{prompt['key']} is at version {prompt['version']}"


def _roles(answer: Any) -> str:
    return show.table(
        ["role", "order", "provider", "model", "parameters"],
        [
            [role, number, link["provider"], link["model"], _listed(link.get("parameters") or {})]
            for role, chain in sorted(answer["roles"].items())
            for number, link in enumerate(chain, 1)
        ],
    )


def _listed(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def _available(answer: Any) -> str:
    """Return a table of models; ``takes`` and ``refuses`` list features (schema, tools, images, ...) that were tried.

    ``input`` and ``output`` are dollars for a million tokens, as of a day.
    """
    prices = {(price["provider"], price["model"]): price for price in answer.get("prices", ())}
    names = ["provider", "model", "configured", "window", "tokenizer", "takes", "refuses", "retired"]
    return show.table(
        [*names, "input", "output", "as of"],
        [
            [
                each["provider"],
                each["model"],
                "yes" if each["configured"] else "no",
                each.get("window"),
                "yes" if each.get("tokenizer") else None,
                ", ".join(each.get("takes") or ()) or None,
                ", ".join(each.get("refuses") or ()) or None,
                each.get("retired"),
                *(price.get(name) for name in ("input", "output", "as_of")),
            ]
            for each in answer["available"]
            for price in [prices.get((each["provider"], each["model"]), {})]
        ],
    )


def _test(answer: Any) -> str:
    who = f"{answer.get('provider')}/{answer.get('model')}"
    if not answer["ok"]:
        return f"{who}: {answer.get('error')}"
    prompted = f", prompted with {answer['prompting']}" if answer.get("prompting") == "examples" else ""
    return f"{who} answered in {answer['seconds']:.2f} s{prompted}"


def api(
    method: Annotated[str, Parameter(help="HTTP method, such as GET or POST")],
    path: Annotated[str, Parameter(help="For example /v1/jobs?limit=5")],
    *,
    body: Annotated[
        str | None,
        Parameter(name=["-d", "--body"], help="JSON, @FILE, or - for standard input", allow_leading_hyphen=True),
    ] = None,
    header: Annotated[Sequence[str], Parameter(name=["-H", "--header"], help="NAME=VALUE", negative="")] = (),
    include: Annotated[bool, Parameter(name=["-i", "--include"], help="Show status and headers", negative="")] = False,
) -> None:
    """Send any request to the API and print the answer."""
    if method.upper() not in _METHODS:
        raise UsageError(f"{method!r} is not a method; use one of {', '.join(_METHODS)}")
    if not path.startswith("/"):
        path = f"/{path}"
    session = current()
    reply = session.client.request(method.upper(), path, json=_body(body), headers=dict(pair(each) for each in header))
    if include:
        lines = [f"HTTP {reply.status}", *(f"{name}: {value}" for name, value in reply.headers.items())]
        session.warn("\n".join(lines))
    if reply.body:
        sys.stdout.flush()
        sys.stdout.buffer.write(reply.body if reply.body.endswith(b"\n") else reply.body + b"\n")
        sys.stdout.buffer.flush()


def _body(text: str | None) -> Any:
    if text is None:
        return None
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = text_of(Path(text[1:]))
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"the body is not JSON: {error}") from error


def _passed(prompt: dict[str, Any]) -> str | None:
    """Return the evaluation that a version had to pass."""
    gate = prompt.get("gate")
    return f"{gate['successes']}/{gate['runs']} of {gate['evaluation_id']}" if gate else None
