"""`assay config`: servers by name, so that --profile or ASSAY_PROFILE is all that has to be said."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from assay import profiles
from assay.commands import show
from assay.commands.session import UsageError, current
from assay.installations import home_of, near_home
from assay.profiles import Config, Profile
from assay.transport import DEFAULT_URL, chosen_profile, find_target

app = App(name="config", help="Servers by name: profiles in a file of the user's.")


@app.command(name="ls")
def list_profiles() -> None:
    """List the profiles, and the file that holds them."""
    config = profiles.read(os.environ)
    rows = [
        {"name": name, "default": name == config.default, "url": each.url, "key": _place(each), "output": each.output}
        for name, each in sorted(config.profiles.items())
    ]
    file = str(profiles.config_file(os.environ))
    current().show({"file": file, "profiles": rows}, _table)
    current().say(f"in {file}" if rows else f"no servers in {file}: assay config set NAME --url URL")


@app.command(name="show")
def show_server() -> None:
    """Show which server the commands use from here, and which setting selects it; keys are not shown."""
    flags = current().flags
    target = find_target(flags.url, flags.api_key, os.environ, flags.profile)
    shown = {"url": target.url, "from": _reason(target.url), "key": "given" if target.api_key else "none"}
    current().show(shown, lambda each: f"{each['url']}\n{each['from']}\nkey: {each['key']}")


def _reason(url: str) -> str:
    """Return the setting that selects the server, in the order of ``find_target``."""
    flags = current().flags
    if flags.url:
        return "--url"
    if name := flags.profile or os.environ.get("ASSAY_PROFILE"):
        return f"the profile {name}"
    if os.environ.get("ASSAY_URL"):
        return "ASSAY_URL"
    if os.environ.get("ASSAY_HOME") or near_home() is not None:
        return f"the installation in {home_of(os.environ)}"
    if chosen_profile(None, os.environ) is not None:
        return f"the default profile {profiles.read(os.environ).default}"
    return "the installation that was started last" if url != DEFAULT_URL else "nothing: this is where it usually is"


@app.command(name="set")
def set_profile(
    name: Annotated[str, Parameter(help="Profile name")],
    *,
    api_key_env: Annotated[str | None, Parameter(help="The environment variable that holds the key")] = None,
    api_key_file: Annotated[str | None, Parameter(help="The file that holds the key; only you may read it")] = None,
    output: Annotated[Literal["text", "json"] | None, Parameter(help="json: as if every command had --json")] = None,
) -> None:
    """Add a profile with --url URL, or change what is given of one. The first one becomes the default."""
    config = profiles.read(os.environ)
    old, url = config.profiles.get(name), current().flags.url
    if old is None and url is None:
        raise UsageError(f"there is no profile {name} yet: say --url URL")
    if api_key_env is not None and api_key_file is not None:
        raise UsageError("the key comes from --api-key-env or from --api-key-file, not from both")
    changed = replace(old or Profile(""), **_given(url=url, output=output))
    if api_key_env is not None or api_key_file is not None:
        changed = replace(changed, api_key_env=api_key_env, api_key_file=api_key_file)
    _write(Config(config.default or name, {**config.profiles, name: changed}))


@app.command(name="use")
def use_profile(name: Annotated[str, Parameter(help="Profile name")]) -> None:
    """Make a profile the default."""
    config = profiles.read(os.environ)
    config.profile(name)
    _write(Config(name, config.profiles))


@app.command(name="rm")
def remove_profile(name: Annotated[str, Parameter(help="Profile name")]) -> None:
    """Remove a profile."""
    config = profiles.read(os.environ)
    config.profile(name)
    kept = {other: profile for other, profile in config.profiles.items() if other != name}
    _write(Config(None if config.default == name else config.default, kept))


def _write(config: Config) -> None:
    current().say(f"saved {profiles.write(os.environ, config)}")


def _given(**values: str | None) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _place(profile: Profile) -> str:
    return (profile.api_key_env and f"${profile.api_key_env}") or profile.api_key_file or ""


def _table(settings: Any) -> str | None:
    rows = [
        [row["name"], "*" if row["default"] else "", row["url"], row["key"], row["output"]]
        for row in settings["profiles"]
    ]
    return show.table(["profile", "default", "url", "key", "output"], rows) if rows else None
