"""Servers by name: which one is meant, where its key is, and what is refused."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay import profiles
from assay.profiles import Config, Profile, ProfileError
from assay.transport import find_target
from tests.assay.terminal import Shell, plain

WORK = "https://assay.example.org"
FILE = f"""
default = "work"

[profiles.work]
url = "{WORK}/"
api_key_env = "WORK_KEY"

[profiles.lab]
url = "http://lab:8000"
api_key_file = "KEYFILE"
output = "json"
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    key = tmp_path / "key"
    key.write_text("lab-key\n")
    key.chmod(0o600)
    file = tmp_path / "config.toml"
    file.write_text(FILE.replace("KEYFILE", str(key)))
    return {"ASSAY_CONFIG": str(file), "HOME": str(tmp_path), "WORK_KEY": "work-key"}


def test_the_one_that_is_named_comes_before_the_environment_and_that_before_the_default(
    env: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def meant(profile: str | None = None, **more: str) -> tuple[str, str | None]:
        target = find_target(environment={**env, **more}, profile=profile)
        return target.url, target.api_key

    assert meant() == (WORK, "work-key")
    assert meant("lab") == meant(ASSAY_PROFILE="lab") == ("http://lab:8000", "lab-key")
    assert meant("work", ASSAY_PROFILE="lab", ASSAY_URL="http://x") == (WORK, "work-key")
    assert meant(ASSAY_URL="http://x", ASSAY_API_KEY="k") == ("http://x", "k")
    assert meant(ASSAY_HOME="/nowhere") == ("http://127.0.0.1:8000", None), "an installation was named"
    (tmp_path / ".assay").mkdir()
    (tmp_path / ".assay" / "status.json").write_text('{"url": "http://127.0.0.1:7", "api_key": "own"}')
    assert meant() == ("http://127.0.0.1:7", "own"), "one runs in this folder"
    assert meant("work") == (WORK, "work-key")


def test_a_key_is_shown_to_its_own_server_only(env: Mapping[str, str]) -> None:
    assert find_target("http://other", environment=env, profile="work").api_key is None
    assert find_target(WORK, environment=env, profile="work").api_key == "work-key"
    assert find_target(api_key="given", environment=env, profile="work").api_key == "given"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("default = 3 4", "line 1"),
        ('default = "x"', "no profile 'x'"),
        ("[profiles.a]", "needs a url"),
        ('[profiles.a]\nurl = "ftp://x"', "needs a url"),
        ('[profiles.a]\nurl = "https://me:secret@x"', "no password"),
        ('[profiles.a]\nurl = "http://x"\napi_key = "k"', "put it into a file"),
        ('[profiles.a]\nurl = "http://x"\napi_key_env = "A"\napi_key_file = "b"', "keep one"),
        ('[profiles.a]\nurl = "http://x"\noutput = "xml"', "text or json"),
        ('[profiles.a]\nurl = "http://x"\nurls = "b"', "'urls'"),
        ('[profiles."a b"]\nurl = "http://x"', "is not a profile name"),
        ("profiles = 3", "not a table"),
        ("a" * ((1 << 20) + 1), "more than a megabyte"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(env: Mapping[str, str], text: str, said: str) -> None:
    Path(env["ASSAY_CONFIG"]).write_text(text)
    with pytest.raises(ProfileError, match=said):
        profiles.read(env)


def test_a_key_that_others_may_read_or_that_is_not_there_is_not_used(env: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(ProfileError, match="chmod 600"):
        find_target(environment=env, profile="lab")
    (tmp_path / "key").unlink()
    with pytest.raises(ProfileError, match="No such file"):
        find_target(environment=env, profile="lab")
    with pytest.raises(ProfileError, match="WORK_KEY, which is not set"):
        find_target(environment={**env, "WORK_KEY": ""}, profile="work")


def test_what_is_written_is_read_back_and_is_its_owners(env: Mapping[str, str]) -> None:
    config = Config("a", {"a": Profile("http://x", api_key_file='/odd "\\ ü')})
    file = profiles.write(env, config)
    assert profiles.read(env) == config
    assert os.stat(file).st_mode & 0o077 == 0
    with pytest.raises(ProfileError):
        profiles.write(env, Config(None, {"a": Profile("nonsense")}))
    assert profiles.read(env) == config


def test_what_is_no_file_is_not_replaced_by_one_and_a_link_stays(env: Mapping[str, str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ProfileError, match="is not a file"):
        profiles.write({"ASSAY_CONFIG": str(pipe)}, Config())
    link = tmp_path / "link"
    link.symlink_to(env["ASSAY_CONFIG"])
    profiles.write({"ASSAY_CONFIG": str(link)}, Config())
    assert link.is_symlink()
    assert profiles.read(env) == Config()


def test_somebody_keeps_profiles_by_commands(env: Mapping[str, str], tmp_path: Path) -> None:
    shell = Shell(tmp_path, {**plain(), "ASSAY_CONFIG": str(tmp_path / "mine" / "config.toml")})
    assert shell("config", "set", "work").status == 2
    assert shell("config", "set", "work", "--url", "http://127.0.0.1:9", "--api-key-env", "WK").status == 0
    assert shell("config", "set", "lab", "--url", "http://127.0.0.1:8", "--output", "json").status == 0
    told = shell("config", "ls", "--json").json["profiles"]
    assert [(each["name"], each["default"], each["key"]) for each in told] == [
        ("lab", False, ""),
        ("work", True, "$WK"),
    ]
    ran = shell("jobs", "ls")
    assert (ran.status, "WK, which is not set" in ran.talk) == (2, True)
    assert shell("jobs", "ls", WK="k").status == 5, "nobody listens there"
    assert shell("jobs", "ls", "--profile", "lab").status == 5
    assert shell("config", "show", "--profile", "lab").json == {
        "url": "http://127.0.0.1:8", "from": "the profile lab", "key": "none",
    }  # fmt: skip
    assert "the default profile work" in shell("config", "show", WK="k").out
    assert shell("config", "show", "--url", "http://127.0.0.1:7/", "--json", WK="k").json["from"] == "--url"
    assert shell("config", "use", "lab").status == shell("config", "rm", "work").status == 0
    assert [each["name"] for each in shell("config", "ls").json["profiles"]] == ["lab"], "lab prints JSON"
    assert shell("config", "use", "work").status == 2
    assert shell("jobs", "ls", "--profile", "work").status == 2


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_shell_gets_its_completion(tmp_path: Path, name: str) -> None:
    ran = Shell(tmp_path, plain())("completion", name)
    assert ran.status == 0
    assert "transform" in ran.out
