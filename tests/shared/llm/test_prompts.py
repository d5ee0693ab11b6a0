"""Prompts: what may be saved, which version is used, and what a text may do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine, create_engine, delete
from sqlalchemy.engine import make_url

from migrations import roles
from shared import db
from shared.db import with_driver
from shared.errors import NotFound, PreconditionFailed
from shared.llm.cached_value import MAX_AGE
from shared.llm.prompts import PromptRegistry, default_prompts
from shared.llm.tables import prompt_labels, prompt_versions
from shared.llm.templates import (
    PromptBroken,
    PromptNotRendered,
    PromptVariableMissing,
    PromptVariableUnknown,
    check,
    render,
    variables,
)
from tests.support.wait import until

FILES = {"flows.edit": "Edit {{ flow }}.{% if hint %} Hint: {{ hint }}{% endif %}", "flows.retry": "Again: {{ why }}"}


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    engine = db.connect(database_url)
    with engine.begin() as connection:
        connection.execute(delete(prompt_labels))
        connection.execute(delete(prompt_versions))
    yield engine
    engine.dispose()


def test_the_files_are_version_one_of_every_prompt(engine: Engine) -> None:
    registry = PromptRegistry(engine, FILES)
    shown = registry.get("flows.edit")
    assert (shown.version, shown.is_default, shown.text) == (1, True, FILES["flows.edit"])
    assert (shown.variables.required, shown.variables.optional) == (["flow"], ["hint"])
    assert shown.updated_at is not None
    assert registry.keys() == ["flows.edit", "flows.retry"]


@pytest.mark.slow
def test_a_saved_text_is_a_new_version_that_other_replicas_follow(engine: Engine) -> None:
    here, there = PromptRegistry(engine, FILES), PromptRegistry(engine, FILES)
    assert there.render("flows.edit", flow="F").text == "Edit F."
    saved = here.save("flows.edit", "Change {{ flow }} now", "someone")
    assert (saved.version, saved.is_default) == (2, False)
    assert here.render("flows.edit", flow="F").version.version == 2
    until(lambda: there.render("flows.edit", flow="F").text == "Change F now", "the other replica follows")


def test_rollback_and_reset_make_new_versions(engine: Engine) -> None:
    registry = PromptRegistry(engine, FILES)
    registry.save("flows.edit", "Two {{ flow }}")
    assert registry.rollback("flows.edit", 1).version == 3
    registry.save("flows.edit", "Four {{ flow }}")
    again = registry.rollback("flows.edit", 2)
    assert (again.version, again.text, again.is_default) == (5, "Two {{ flow }}", False)
    reset = registry.reset("flows.edit")
    assert (reset.version, reset.text, reset.is_default) == (6, FILES["flows.edit"], True)
    assert [version.version for version in registry.versions("flows.edit")] == [6, 5, 4, 3, 2, 1]
    with pytest.raises(NotFound):
        registry.rollback("flows.edit", 99)
    with pytest.raises(NotFound):
        registry.save("flows.unknown", "x")


def test_a_write_on_an_outdated_version_is_refused(engine: Engine) -> None:
    registry = PromptRegistry(engine, FILES)
    registry.save("flows.edit", "Two {{ flow }}", expected=1)
    with pytest.raises(PreconditionFailed):
        registry.save("flows.edit", "Three {{ flow }}", expected=1)
    assert registry.get("flows.edit").version == 2


def test_concurrent_writers_never_share_a_version(engine: Engine) -> None:
    registry = PromptRegistry(engine, FILES)
    with ThreadPoolExecutor(8) as pool:
        saved = list(pool.map(lambda n: registry.save("flows.edit", f"{n} {{{{ flow }}}}").version, range(16)))
    assert sorted(saved) == list(range(2, 18))


def test_a_new_file_replaces_an_untouched_default_and_leaves_an_edited_prompt_alone(engine: Engine) -> None:
    old = PromptRegistry(engine, FILES)
    old.save("flows.retry", "Mine: {{ why }}")
    new = PromptRegistry(engine, {"flows.edit": "Better {{ flow }}", "flows.retry": "Better: {{ why }}"})
    assert (new.get("flows.edit").text, new.get("flows.edit").version) == ("Better {{ flow }}", 2)
    assert new.get("flows.retry").text == "Mine: {{ why }}"


def test_a_role_that_only_reads_uses_its_files_for_defaults_and_stores_nothing(
    engine: Engine, database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    PromptRegistry(engine, FILES).save("flows.retry", "Mine: {{ why }}")
    with engine.begin() as connection:
        roles.apply(connection)
        roles.allow_login(connection, {"execution": "secret"})
    url = make_url(with_driver(database_url)).set(username=f"{roles.PREFIX}execution", password="secret")
    files = {"flows.edit": "Better {{ flow }}", "flows.retry": "Better: {{ why }}", "flows.new": "New"}
    worker_engine = create_engine(url)
    try:
        worker = PromptRegistry(worker_engine, files)
        texts = {key: worker.get(key).text for key in files}
        assert texts == {"flows.edit": "Better {{ flow }}", "flows.retry": "Mine: {{ why }}", "flows.new": "New"}
        assert "stay as they were" not in caplog.text
        assert PromptRegistry(engine, FILES).get("flows.edit").version == 1, "nothing was stored"

        PromptRegistry(engine, files).refresh()
        time.sleep(MAX_AGE)
        assert worker.get("flows.edit").version == 2, "stored by a service that may"
    finally:
        worker_engine.dispose()


def test_a_job_can_be_pinned_to_a_version(engine: Engine) -> None:
    registry = PromptRegistry(engine, FILES)
    registry.save("flows.edit", "Two {{ flow }}")
    pinned = registry.pinned(1).render("flows.edit", flow="F")
    assert (pinned.text, pinned.version.version) == ("Edit F.", 1)
    assert registry.pinned(None).render("flows.edit", flow="F").version.version == 2
    assert registry.pinned(1).render("flows.retry", why="w").version.version == 1, "not a role: the version in use"


def test_without_a_database_the_files_are_used() -> None:
    away = db.connect("postgresql://nobody@127.0.0.1:1/none")
    assert PromptRegistry(away, FILES).render("flows.edit", flow="F").text == "Edit F."
    assert PromptRegistry(None, FILES).render("flows.edit", flow="F").text == "Edit F."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{{ flow }} {{ other }}", PromptVariableUnknown),
        ("{{ flow }}{% if other %}x{% endif %}", PromptVariableUnknown),
        ("nothing", PromptVariableMissing),
        ("{{ flow", PromptBroken),
        ("{% for %}{{ flow }}", PromptBroken),
        ("{{ flow }}{% include 'x' %}", PromptBroken),
        ("{{ flow|nofilter }}", PromptBroken),
        ("{{ flow.__class__.__mro__ }}", PromptBroken),
        ("{{ flow }}\x00", PromptBroken),
    ],
)
def test_a_text_that_would_break_a_job_is_refused(text: str, fault: type[Exception]) -> None:
    with pytest.raises(fault):
        check(text, FILES["flows.edit"])


@pytest.mark.parametrize(
    "text",
    [
        "{{ flow }}",
        "{{ flow | upper }} {{ hint | default('-') }}",
        "{% for node in flow.nodes %}{{ node.id }}{% endfor %}",
        "{% if flow > 3 %}big{% endif %}{% set x = 1 %}{{ x }}",
        "A literal {% raw %}{{ brace }}{% endraw %} {{ flow }}",
    ],
)
def test_a_text_with_the_same_variables_may_be_saved(text: str) -> None:
    check(text, FILES["flows.edit"])


def test_required_variables_are_those_that_are_not_only_asked_about() -> None:
    used = variables(
        "{{ a }}{% if b %}{{ b }}{% endif %}{{ c|default('x') }}{% if d > 1 %}{% endif %}{{ e if e else a }}"
    )
    assert used.required == {"a", "d"}
    assert used.optional == {"b", "c", "e"}


def test_rendering_is_strict_sandboxed_and_bounded() -> None:
    assert render("{% if hint %}x{% endif %}ok", {}) == "ok"
    with pytest.raises(PromptNotRendered, match="undefined"):
        render("{{ flow }}", {})
    with pytest.raises(PromptNotRendered):
        render("{{ flow.__class__.__mro__ }}", {"flow": "x"})
    with pytest.raises(PromptNotRendered):
        render("{% for i in range(99999) %}{% for j in range(99999) %}xxxxxxxxxxxxxxxx{% endfor %}{% endfor %}", {})


def test_a_value_that_looks_like_a_template_stays_text() -> None:
    assert render("{{ flow }}", {"flow": "{{ secret }}"}) == "{{ secret }}"


def test_every_default_prompt_is_a_template_that_stands_for_itself() -> None:
    assert "execution.transform" in default_prompts()
    for text in default_prompts().values():
        check(text, text)
