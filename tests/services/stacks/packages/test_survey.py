"""The version that a lockfile pins, found without parsing it whole."""

from __future__ import annotations

import pytest

from services.stacks.manifests.model import Dependency, Manifest
from services.stacks.packages.survey import Locks
from tests.services.stacks.trees import tree_of


@pytest.mark.parametrize(
    ("ecosystem", "name", "lock", "text"),
    [
        ("npm", "next", "package-lock.json", '{"packages": {"node_modules/next": {"version": "1.2.3"}, "node_modules/next-auth": {"version": "9"}}}'),
        ("npm", "@a/b", "pnpm-lock.yaml", "importers:\n  .:\n    dependencies:\n      '@a/b':\n        specifier: ^1\n        version: 1.2.3\n"),
        ("npm", "next", "yarn.lock", 'next-auth@9:\n  version "9"\n\nnext@^1:\n  version "1.2.3"\n'),
        ("npm", "next", "bun.lock", '{"packages": {"next": ["next@1.2.3", ""]}}'),
        ("pypi", "django-rest", "uv.lock", '[[package]]\nname = "django_rest"\nversion = "1.2.3"\n'),
        ("pypi", "flask", "Pipfile.lock", '{"default": {"flask": {"hashes": [],\n "version": "==1.2.3"}}}'),
        ("cargo", "axum", "Cargo.lock", 'name = "axum"\nversion = "1.2.3"\n'),
        ("gem", "rails", "Gemfile.lock", "GEM\n  specs:\n    rails (1.2.3)\n      rails-html (9)\n"),
        ("composer", "a/b", "composer.lock", '{"packages": [{"name": "a/b", "version": "v1.2.3"}]}'),
        ("hex", "phoenix", "mix.lock", '%{"phoenix": {:hex, :phoenix, "1.2.3", "x"}}'),
        ("pub", "shelf", "pubspec.lock", 'packages:\n  shelf:\n    dependency: direct\n    version: "1.2.3"\n'),
    ],
)  # fmt: skip
def test_a_lockfile_pins_a_version(ecosystem: str, name: str, lock: str, text: str) -> None:
    locks = Locks(tree_of({lock: text}))
    manifest = Manifest("m", "m", ecosystem, "")
    assert locks.version("", {lock}, Dependency(ecosystem, name, None, "prod", manifest)) == "1.2.3"
    assert locks.version("", {lock}, Dependency(ecosystem, "absent", None, "prod", manifest)) is None
    assert locks.version("", set(), Dependency(ecosystem, name, None, "prod", manifest)) is None
