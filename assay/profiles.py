"""Profiles: servers that somebody uses by name, in ``config.toml`` of the user's configuration folder.

    default = "work"

    [profiles.work]
    url = "https://assay.example.org"
    api_key_env = "WORK_ASSAY_KEY"    # or api_key_file = "~/.config/assay/work.key"
    output = "json"                   # as if --json stood on every command; "text" is the default

The file holds no key, only where it is.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_OUTPUTS = ("text", "json")
_MAX_BYTES = 1 << 20
_LONGEST_KEY = 4096


class ProfileError(ValueError):
    """The file, or a profile of it, cannot be used; the text says what to change."""


@dataclass(frozen=True)
class Profile:
    url: str
    api_key_env: str | None = None
    api_key_file: str | None = None
    output: str = "text"

    def api_key(self, environment: Mapping[str, str]) -> str | None:
        """Return the profile's key. Raises: ProfileError when the key is not at the configured location."""
        if self.api_key_env is not None:
            if key := environment.get(self.api_key_env):
                return key
            raise ProfileError(f"the profile takes its key from {self.api_key_env}, which is not set")
        return None if self.api_key_file is None else _key_in(Path(self.api_key_file).expanduser())


@dataclass(frozen=True)
class Config:
    """What the file holds."""

    default: str | None = None
    profiles: Mapping[str, Profile] = field(default_factory=dict)

    def profile(self, name: str) -> Profile:
        """Return the profile of that name. Raises: ProfileError when it does not exist."""
        if (profile := self.profiles.get(name)) is None:
            known = ", ".join(sorted(self.profiles)) or "none"
            raise ProfileError(f"there is no profile {name!r}; there is: {known} (`assay config set NAME --url URL`)")
        return profile


def config_file(environment: Mapping[str, str]) -> Path:
    """ASSAY_CONFIG, else ``assay/config.toml`` in the user's configuration folder (XDG Base Directory)."""
    if given := environment.get("ASSAY_CONFIG"):
        return Path(given).expanduser()
    folder = environment.get("XDG_CONFIG_HOME") or ""
    home = Path(environment.get("HOME") or "~").expanduser()
    return (Path(folder) if folder.startswith("/") else home / ".config") / "assay" / "config.toml"


def read(environment: Mapping[str, str]) -> Config:
    """Read the configuration, empty when the file is missing. Raises: ProfileError, with the line or field in the
    file.
    """
    file = config_file(environment)
    try:
        with file.open("rb") as stream:
            body = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ProfileError(f"{file}: {error.strerror}") from None
    if len(body) > _MAX_BYTES:
        raise ProfileError(f"{file} has more than a megabyte")
    try:
        return _config(tomllib.loads(body.decode()))
    except (ProfileError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ProfileError(f"{file}: {error}") from None


def write(environment: Mapping[str, str], config: Config) -> Path:
    """Replace the file; comments in it are lost. Raises: ProfileError."""
    _config({"default": config.default, "profiles": {name: _said(each) for name, each in config.profiles.items()}})
    file = config_file(environment).resolve()  # a link stays one
    if file.exists() and not file.is_file():
        raise ProfileError(f"{file} is not a file")
    lines = ["# Servers by name; `assay config` rewrites this file."]
    lines += [f"default = {json.dumps(config.default)}"] if config.default else []
    for name, profile in sorted(config.profiles.items()):
        lines += ["", f"[profiles.{json.dumps(name)}]"]
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in _said(profile).items()]
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, delete=False) as part:  # only its owner may read it
            part.write("\n".join([*lines, ""]))
        Path(part.name).replace(file)
    except OSError as error:
        raise ProfileError(f"{file}: {error.strerror}") from None
    return file


def _said(profile: Profile) -> dict[str, str]:
    return {key: value for key, value in asdict(profile).items() if value is not None}


def _config(document: Mapping[str, Any]) -> Config:
    """Parse the document. Raises: ProfileError."""
    _only(document, {"default", "profiles"}, "the file")
    tables = document.get("profiles", {})
    if not isinstance(tables, Mapping):
        raise ProfileError("`profiles` is not a table")
    config = Config(document.get("default"), {name: _profile(name, table) for name, table in tables.items()})
    if config.default is not None:
        config.profile(config.default)
    return config


def _profile(name: str, table: object) -> Profile:
    if not _NAME.fullmatch(name):
        raise ProfileError(f"{name!r} is not a profile name: use letters, digits, . _ - and at most 64 of them")
    if not isinstance(table, Mapping) or not all(isinstance(value, str) for value in table.values()):
        raise ProfileError(f"the profile {name} is not a table of texts")
    _only(table, {"url", "api_key_env", "api_key_file", "output"}, f"the profile {name}")
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", table.get("url", "")):
        raise ProfileError(f"the profile {name} needs a url that begins with http:// or https:// and holds no password")
    if {"api_key_env", "api_key_file"} <= table.keys():
        raise ProfileError(f"the profile {name} has api_key_env and api_key_file: keep one")
    profile = Profile(**table)
    if profile.output not in _OUTPUTS:
        raise ProfileError(f"the output of the profile {name} is {' or '.join(_OUTPUTS)}")
    return profile


def _only(table: Mapping[str, object], known: set[str], where: str) -> None:
    if "api_key" in table:
        raise ProfileError(f"{where} holds a key; put it into a file and name that in api_key_file")
    if unknown := sorted(set(table) - known):
        raise ProfileError(f"{where} has {unknown[0]!r}, which is unknown; known are {', '.join(sorted(known))}")


def _key_in(file: Path) -> str:
    try:
        with file.open() as stream:
            mode = os.fstat(stream.fileno()).st_mode
            key = stream.read(_LONGEST_KEY).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not text"
        raise ProfileError(f"the key's file {file}: {reason}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ProfileError(f"others may read the key's file {file}: chmod 600 it")
    if not key:
        raise ProfileError(f"the key's file {file} is empty")
    return key
