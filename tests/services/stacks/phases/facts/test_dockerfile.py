"""Dockerfiles: the last stage runs with what it inherits, the packages of every stage build."""

from __future__ import annotations

import pytest

from services.stacks.phases.facts.dockerfile import Stage, command_of, own_url, ports_of, read_dockerfile


def last(text: str) -> Stage:
    stage = read_dockerfile(text).stage()
    assert stage is not None
    return stage


def test_only_the_last_stage_runs() -> None:
    text = (
        "FROM a AS build\nEXPOSE 1111\nRUN apt-get update && apt-get install -y --no-install-recommends gcc libpq-dev=1 \\\n"
        '  && rm -rf /x\nFROM b\nARG PORT=8080\nEXPOSE $PORT 9090/tcp\nENV MODE=x DEBUG=1\nENTRYPOINT ["run"]\n'
        'CMD ["--fast"]\nHEALTHCHECK CMD curl http://localhost:8080/healthz\n'
    )
    stage = last(text)
    assert (list(stage.ports), read_dockerfile(text).packages) == ([8080, 9090], ["gcc", "libpq-dev"])
    assert (list(stage.env), stage.start, stage.health) == (
        ["MODE", "DEBUG"],
        (["run", "--fast"], 10),
        ("/healthz", 11, 8080),
    )


def test_comments_and_broken_instructions_say_nothing() -> None:
    stage = last("# EXPOSE 1\nEXPOSE nonsense 70000\nCMD [not json\n")
    assert (list(stage.ports), stage.start) == ([], (["[not", "json"], 3))  # a shell command, as Docker takes it


def test_a_stage_inherits_command_ports_variables_folder_and_check() -> None:
    stage = last(
        "FROM x AS base\nENV A=1\nEXPOSE 81\nWORKDIR /srv\nHEALTHCHECK CMD curl localhost/up\nCMD [\"go\"]\nFROM base AS mid\n"
        "ENV B=2\nWORKDIR app\nFROM mid\n"
    )  # fmt: skip
    assert (stage.start, list(stage.ports), stage.workdir) == ((["go"], 6), [81], "/srv/app")
    assert (list(stage.env), stage.health) == (["A", "B"], ("/up", 5, None))


def test_a_target_ends_the_build_before_the_last_stage() -> None:
    parsed = read_dockerfile("FROM a AS one\nCMD one\nFROM a AS Two\nCMD two\nFROM a\nCMD three\n")
    starts = [stage.start[0] for name in ("one", "TWO", "2", None) if (stage := parsed.stage(name)) and stage.start]
    assert starts == [["one"], ["two"], ["three"], ["three"]]


def test_a_check_may_be_taken_back() -> None:
    assert last("FROM a AS b\nHEALTHCHECK CMD curl http://localhost/x\nFROM b\nHEALTHCHECK NONE\n").health is None


def test_backticks_continue_lines_where_the_file_says_so() -> None:
    stage = last('# escape=`\nFROM w\nEXPOSE 80 `\n  81\nCMD ["C:\\\\app.exe"]\n')
    assert (list(stage.ports), stage.start) == ([80, 81], (["C:\\app.exe"], 5))


def test_a_range_of_ports_is_bounded() -> None:
    assert list(last("FROM a\nEXPOSE 3000-3002\n").ports) == [3000, 3001, 3002]
    assert len(last("FROM a\nEXPOSE 1-65535\n").ports) == 50


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("node server.js --a 'b c'", ["node", "server.js", "--a", "b c"]), ("A=1 node x", ["sh", "-c", "A=1 node x"]),
        ("a && b", ["sh", "-c", "a && b"]), ("unbalanced 'x", ["sh", "-c", "unbalanced 'x"]), ("  ", []),
    ],
)  # fmt: skip
def test_a_shell_is_used_where_only_a_shell_understands(text: str, command: list[str]) -> None:
    assert command_of(text) == command


@pytest.mark.parametrize(
    ("command", "ports"),
    [
        ("gunicorn -b 0.0.0.0:8000 app", [8000]), ("gunicorn --bind=:8080 x", [8080]), ("serve -l tcp://0.0.0.0:3000", [3000]),
        ("hypercorn a:b -b [::]:80", [80]), ("php -S 0.0.0.0:8600 -t public", [8600]), ("python manage.py runserver 0:8000", [8000]),
        ("dotnet x.dll --urls http://+:5005", [5005]), ("java -Dserver.port=9000 -jar x", [9000]), ("PORT=3000 node x", [3000]),
        ("streamlit run a.py --server.port=8501", [8501]), ("uvicorn a:b --port ${PORT:-8080}", [8080]),
        ("gunicorn -w 4 --timeout 120 app:app", []), ("node --max-old-space-size=4096 a.js", []), ("app --port 99999", []),
    ],
)  # fmt: skip
def test_a_command_names_its_port(command: str, ports: list[int]) -> None:
    assert ports_of(command.split()) == ports


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("curl -f http://localhost:3000/healthz || exit 1", "/healthz"), ("wget -qO- 127.0.0.1:80/up", "/up"),
        ("curl http://${HOST}:${PORT:-80}/ready", "/ready"), ("curl -f http://localhost", "/"), ("pg_isready -U x", None),
        ("node check.js", None), ("nc -z localhost 80", None),
    ],
)  # fmt: skip
def test_a_check_names_the_path_of_the_machine_itself(text: str, path: str | None) -> None:
    told = own_url(text)
    assert (told[0] if told else None) == path
