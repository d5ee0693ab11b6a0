"""`assay endpoints`: servers of models that the operator has named."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import rest
from assay.commands import show
from assay.commands.session import UsageError, answer, current

_Limit = Literal["model", "concurrency", "window", "first-token", "idle", "total"]

app = App(name="endpoints", help="Servers of models: Ollama, llama.cpp, vLLM, LM Studio, any with OpenAI's API.")


@app.command(name=["ls", "list"])
def list_endpoints() -> None:
    """List vendors and named endpoints: where each is set, whether it has a key, its server and model."""
    answer(
        rest.endpoints(),
        show.listing(["name", "url", "source", "key", "server", "model", "window", "concurrency", "learned"], _row),
    )


@app.command(name="add")
def add_endpoint(
    name: Annotated[str, Parameter(help="Endpoint name")],
    url: Annotated[str, Parameter(help="Base URL of the server, such as http://localhost:11434/v1")],
    *,
    key_env: Annotated[str | None, Parameter(help="MODEL_KEY_..., the variable that holds its key")] = None,
    model: Annotated[str | None, Parameter(help="Called by default; else the only one")] = None,
    concurrency: Annotated[int | None, Parameter(help="Calls at once, of all workers")] = None,
    window: Annotated[int | None, Parameter(help="Tokens; else as the server says")] = None,
    first_token: Annotated[float | None, Parameter(help="Seconds until it begins to answer")] = None,
    idle: Annotated[float | None, Parameter(help="Seconds between two pieces of an answer")] = None,
    total: Annotated[float | None, Parameter(help="Seconds for one call")] = None,
) -> None:
    """Name an endpoint, or change it."""
    given = {
        "url": url, "key_env": key_env, "model": model, "concurrency": concurrency, "window": window,
        "first_token": first_token, "idle": idle, "total": total,
    }  # fmt: skip
    answer(rest.set_endpoint(name, {key: value for key, value in given.items() if value is not None}), _added)


@app.command(name="set")
def change_endpoint(
    name: Annotated[str, Parameter(help="Endpoint name")],
    *,
    model: Annotated[str | None, Parameter(help="The default model")] = None,
    concurrency: Annotated[int | None, Parameter(help="Calls at once, of all workers")] = None,
    window: Annotated[int | None, Parameter(help="Tokens")] = None,
    first_token: Annotated[float | None, Parameter(help="Seconds until it begins to answer")] = None,
    idle: Annotated[float | None, Parameter(help="Seconds between two pieces of an answer")] = None,
    total: Annotated[float | None, Parameter(help="Seconds for one call")] = None,
    unset: Annotated[tuple[_Limit, ...], Parameter(help="Give it its default again", negative="")] = (),
) -> None:
    """Change limits of an endpoint or a vendor; the others stay as they are."""
    given = {
        "model": model, "concurrency": concurrency, "window": window, "first_token": first_token, "idle": idle,
        "total": total,
    }  # fmt: skip
    listed = {each["name"]: each for each in current().client.fetch(rest.endpoints())["items"]}
    if name not in listed:
        raise UsageError(f"there is no endpoint {name!r}; there are {', '.join(listed)}")
    settings = {**listed[name]["settings"], **{key: value for key, value in given.items() if value is not None}}
    kept = {key: value for key, value in settings.items() if key not in {each.replace("-", "_") for each in unset}}
    answer(rest.set_endpoint(name, kept), _limits)


@app.command(name="test")
def test_endpoint(name: Annotated[str, Parameter(help="Endpoint name")]) -> int:
    """Probe an endpoint's server and send its model a short test message."""
    tested = current().client.fetch(rest.test_endpoint(name))
    current().show(tested, _test)
    return 0 if tested.get("ok") else 1


@app.command(name=["rm", "remove"])
def remove_endpoint(name: Annotated[str, Parameter(help="Endpoint name")]) -> None:
    """Remove an endpoint; of a vendor, what was set."""
    answer(rest.remove_endpoint(name), lambda _: None)


def _row(endpoint: dict[str, Any]) -> list[object]:
    facts = endpoint.get("facts") or {}
    model = endpoint.get("model")
    windows = {each["id"]: each.get("window") for each in facts.get("models", ())}
    window = windows.get(model) or endpoint.get("window")
    key = "yes" if endpoint["has_key"] else "no" if endpoint.get("key_env") else None
    return [
        endpoint["name"], endpoint["url"], endpoint["source"], key, facts.get("server"), model, window,
        endpoint.get("concurrency"), _learned(endpoint),
    ]  # fmt: skip


def _learned(endpoint: dict[str, Any]) -> str | None:
    """Return the facts learned from its models' refusals, each with the time at which it expires."""
    facts = (
        f"{fact['model']}: {_fact(fact)} until {str(fact['until'])[11:16]} UTC" for fact in endpoint.get("learned", ())
    )
    return "; ".join(facts) or None


def _fact(fact: dict[str, Any]) -> str:
    if fact["what"] == "cap":
        return "takes the other name of the answer's token limit"
    if fact["what"] == "cap_tokens":
        return f"answers of at most {fact['tokens']} tokens"
    return f"window {fact['tokens']}" if fact["what"] == "window" else f"no {fact['what']}"


def _limits(endpoint: Any) -> str:
    names = ("model", "concurrency", "window", "first_token", "idle", "total")
    limits = (f"{name.replace('_', ' ')} {endpoint[name]}" for name in names if endpoint.get(name) is not None)
    return f"{endpoint['name']}: {', '.join(limits)}"


def _added(endpoint: Any) -> str:
    model = endpoint.get("model")
    if model:
        return f"{endpoint['name']}/{model} can be named in chains: assay models set ROLE {endpoint['name']}/{model}"
    models = [each["id"] for each in (endpoint.get("facts") or {}).get("models", ())]
    listed = f"it serves {', '.join(models[:10])}: choose one with --model" if models else "its server lists no model"
    return f"{endpoint['name']} is added; {listed}; `assay endpoints test {endpoint['name']}` says more"


def _test(tested: Any) -> str:
    if not tested["ok"]:
        return f"not ready: {tested.get('error')}"
    facts = tested["facts"]
    lines = [
        f"{facts.get('server') or 'a server'} {facts.get('version') or ''}".rstrip() + f", {tested['seconds']:.1f} s"
    ]
    lines += [f"model {each['id']}: window {each.get('window') or 'unknown'}" for each in facts["models"][:20]]
    lines += [f"{name}: {'yes' if taken else 'no'}" for name, taken in facts["probed"].items()]
    return "\n".join(lines)
