"""`assay keys`, `assay prompts`, `assay models`, `assay providers`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay.calls import registries, rest
from assay.commands import show
from assay.commands.run import text_of
from assay.commands.session import UsageError, current

keys = App(name="keys", help="API keys of tenants (needs the scope admin).")
prompts = App(name="prompts", help="What models are told.")
models = App(name="models", help="Which models are asked, in which order.")


@keys.command(name="create")
def create_key(
    *,
    tenant: str = "default",
    name: str,
    scope: Annotated[Sequence[Literal["read", "write", "admin"]], Parameter(negative="")],
    expires_at: Annotated[str | None, Parameter(help="RFC 3339")] = None,
) -> int:
    """Make a key and print it; it is never shown again."""
    current().show(
        current().client.fetch(rest.create_key(tenant, name, scope, expires_at)), lambda made: str(made["key"])
    )
    return 0


@keys.command(name="ls")
def list_keys() -> int:
    """List keys, without the keys themselves."""
    columns = ["id", "tenant", "name", "scopes", "created", "expires", "revoked"]
    current().show(
        current().client.fetch(rest.keys(limit=200)), lambda page: show.table(columns, map(_key, show.items(page)))
    )
    return 0


@keys.command(name="revoke")
def revoke_key(id: str) -> int:
    """End a key."""
    current().client.keys.revoke(id)
    return 0


@prompts.command(name="ls")
def list_prompts() -> int:
    """List prompts and which version is in force."""
    columns = ["key", "version", "default", "updated"]
    current().show(
        current().client.fetch(registries.prompts()),
        lambda page: show.table(columns, map(_prompt, show.items(page))),
    )
    return 0


@prompts.command(name="get")
def get_prompt(key: str) -> int:
    """Print a prompt."""
    current().show(current().client.fetch(registries.prompt(key)), lambda prompt: str(prompt["text"]))
    return 0


@prompts.command(name="set")
def set_prompt(
    key: str, file: Annotated[str, Parameter(help="The new text; - is standard input", allow_leading_hyphen=True)]
) -> int:
    """Make a file the new version of a prompt."""
    text = sys.stdin.read() if file == "-" else text_of(Path(file))
    current().show(current().client.fetch(registries.set_prompt(key, text)), _version)
    return 0


@prompts.command(name="versions")
def prompt_versions(key: str) -> int:
    """List the versions of a prompt."""
    columns = ["key", "version", "default", "updated"]
    current().show(
        current().client.fetch(registries.prompt_versions(key)),
        lambda page: show.table(columns, map(_prompt, show.items(page))),
    )
    return 0


@prompts.command(name="rollback")
def roll_back_prompt(key: str, version: int) -> int:
    """Make an old version the new one."""
    current().show(current().client.fetch(registries.roll_back_prompt(key, version)), _version)
    return 0


@prompts.command(name="reset")
def reset_prompt(key: str) -> int:
    """Return to the text that came with Assay."""
    current().show(current().client.fetch(registries.reset_prompt(key)), _version)
    return 0


@models.command(name="ls")
def list_models() -> int:
    """List roles and the models that are asked for them."""
    current().show(current().client.fetch(registries.models()), _roles)
    return 0


@models.command(name="set")
def set_chain(role: str, *model: Annotated[str, Parameter(help="PROVIDER/MODEL, the first is asked first")]) -> int:
    """Set the models of a role."""
    chain = []
    for each in model:
        provider, slash, name = each.partition("/")
        if not slash or not provider or not name:
            raise UsageError(f"{each!r} is not PROVIDER/MODEL")
        chain.append({"provider": provider, "model": name})
    if not chain:
        raise UsageError("name at least one PROVIDER/MODEL")
    current().show(current().client.fetch(registries.set_chain(role, chain)), lambda answer: None)
    return 0


@models.command(name="test")
def test_model(role: str) -> int:
    """Ask the models of a role for a word."""
    answer = current().client.fetch(registries.test_model(role))
    current().show(answer, _test)
    return 0 if answer.get("ok") else 1


@models.command(name="reset")
def reset_models() -> int:
    """Return to the chains that came with Assay."""
    current().show(current().client.fetch(registries.reset_models()), lambda answer: None)
    return 0


def providers() -> int:
    """List model providers, whether they have a key, and how they fare."""
    columns = ["name", "configured", "state", "until", "last error"]
    current().show(
        current().client.fetch(registries.providers()),
        lambda page: show.table(
            columns,
            [
                [each["name"], each["configured"], each["state"], each.get("until"), each.get("last_error")]
                for each in show.items(page)
            ],
        ),
    )
    return 0


def _key(key: dict[str, Any]) -> list[object]:
    return [
        key["id"], key["tenant"], key["name"], ",".join(key["scopes"]), show.clock(key["created_at"]),
        key.get("expires_at"), key.get("revoked_at"),
    ]  # fmt: skip


def _prompt(prompt: dict[str, Any]) -> list[object]:
    return [prompt["key"], prompt["version"], prompt["is_default"], show.clock(prompt.get("updated_at"))]


def _version(prompt: Any) -> str:
    return f"{prompt['key']} is at version {prompt['version']}"


def _roles(answer: Any) -> str:
    return show.table(
        ["role", "order", "provider", "model"],
        [
            [role, number, link["provider"], link["model"]]
            for role, chain in sorted(answer["roles"].items())
            for number, link in enumerate(chain, 1)
        ],
    )


def _test(answer: Any) -> str:
    who = f"{answer.get('provider')}/{answer.get('model')}"
    return f"{who} answered in {answer['seconds']:.2f} s" if answer["ok"] else f"{who}: {answer.get('error')}"
