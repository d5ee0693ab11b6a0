"""Mistakes end in one sentence that says what to do, with the status of their kind, and never in a traceback."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from assay.commands.run import no_network
from tests.assay.terminal import Shell, written

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def desk(shell: Shell) -> Shell:
    """A folder with files of every unfortunate kind."""
    folder = shell.folder / "mistakes"
    folder.mkdir()
    own = Shell(folder, shell.env)
    written(own, "sales.csv", "city,amount\nOslo,3\nRome,4\nOslo,5\n")
    written(own, "a.py", "print(1)\n")
    written(own, "a.rb", "puts 1\n")
    written(own, "book.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    written(own, "empty.csv", "")
    written(own, "bad.json", '{"a": 1,')
    (folder / "mixed").mkdir()
    (folder / "nothing").mkdir()
    written(own, "mixed/a.csv", "a\n1\n")
    written(own, "mixed/b.json", '[{"a": 1}]')
    written(own, "flow.json", '{"nodes": 3}')
    written(own, "page.md", "Say something.")
    (folder / "bad.xlsx").write_bytes(b"PK\x03\x04 nonsense")
    (folder / "bin.csv").write_bytes(b"\x00\x01\x02binary")
    return own


#: Words of the command, exit status, and what the one sentence says.
MISTAKES: list[tuple[list[str], int, str]] = [
    # files and folders
    (["transform", "nosuch.csv", "total"], 2, "there is no file nosuch.csv"),
    (["transform", "sale.csv", "total"], 2, "did you mean sales.csv?"),
    (["execute", "b.py"], 2, "there is no file b.py"),
    (["execute", "a.py", "--file", "sals.csv"], 2, "did you mean sales.csv?"),
    (["doc", "run", "nosuch.md"], 2, "there is no file nosuch.md"),
    (["flow", "edit", "nosuch.mmd", "x"], 2, "there is no file nosuch.mmd"),
    (["flow", "import", "nosuch.mmd"], 2, "there is no file"),
    (["files", "put", "nosuch.bin"], 2, "there is no file"),
    (["collection", "create", "c", "nosuch.json"], 2, "there is no file"),
    (["definitions", "check", "nosuch.yaml"], 2, "there is no file"),
    (["prompts", "set", "execution.transform", "nosuch.md"], 2, "there is no file"),
    (["detect", "nosuch"], 2, "there is no file"),
    (["eval", "run", "nosuch.yaml"], 2, "nosuch.yaml"),
    (["eval", "run", "sales.csv"], 2, "a suite is one mapping"),
    (["restore", "nosuch.backup"], 2, "There is no backup nosuch.backup"),
    (["backup", "/nosuch/x.backup"], 2, "There is no folder /nosuch"),
    (["transform", "mixed", "total"], 2, "give a pattern in quotes, such as 'mixed/*.csv'"),
    (["transform", "*.foo", "total"], 2, "no file fits *.foo"),
    (["transform", "empty.csv", "total"], 1, "the file is empty"),
    (["transform", "bin.csv", "total"], 1, "binary data"),
    (["detect", "sales.csv"], 1, "sales.csv: not an archive; give a folder, a tar"),
    (["detect", "bad.xlsx"], 1, "bad.xlsx: the archive is damaged or cut off"),
    (["transform", "sales.csv", "total", "-o", "out.foo"], 2, "unsupported output format '.foo'; use one of"),
    (["transform", "sales.csv", "total", "-o", "/nosuch/out.csv"], 2, "no folder /nosuch"),
    # words and options
    (["transform", "sales.csv"], 2, "missing task"),
    (["execute"], 2, "missing program"),
    (["execute", "sales.csv"], 2, "sales.csv is a table, not a program; for a table: assay transform sales.csv"),
    (["execute", "book.ipynb"], 2, "book.ipynb is a document, not a program; to run it: assay doc run book.ipynb"),
    (["transform", "book.ipynb", "total"], 2, "to run it: assay doc run book.ipynb"),
    (["transform", "a.py", "total"], 2, "a.py is a program, not a table; to run it: assay execute a.py"),
    (["execute", "a.rb"], 2, "cannot detect the language from '.rb'"),
    (["transform", "sales.csv", "total", "-o", "out.pdf"], 2, "for a plot png or svg"),
    (["transform", "sales.csv", "total", "--output", "plot", "-o", "out.csv"], 2, "saved as .png or .svg"),
    (["transform", "sales.csv", "total", "--data", "rates"], 2, "not NAME=FILE, as in --data rates=rates.csv"),
    (["doc", "run", "book.ipynb", "--set", "n"], 2, "not PARAMETER=VALUE, as in --set region=north"),
    (["transform", "sales.csv", "total", "--outfile", "x.csv"], 2, "Did you mean --out?"),
    (["doc", "chekc", "book.ipynb"], 2, "Did you mean `assay doc check`?"),
    (["transfrom", "sales.csv", "total"], 2, "Did you mean `assay transform`?"),
    (["jobs", "lss"], 2, "Did you mean `assay jobs ls`?"),
    (["transform", "sales.csv", "total", "--modle", "x"], 2, "Did you mean --model?"),
    (["transform", "sales.csv", "total", "by", "city"], 2, 'Put a text in quotes: "total by city"'),
    (["execute", "-l", "r", "-c", "1"], 2, "Unknown option: -l"),
    (["search", "what", "moves", "-c", "x"], 2, "put the question in quotes"),
    (["execute", "a.py", "--wall-seconds", "abc"], 2, "--wall-seconds must be a number, not 'abc'"),
    (["jobs", "ls", "--limit", "x"], 2, "--limit must be a whole number"),
    (["execute", "a.py", "--language", "ruby"], 2, 'Choose from: "python"'),
    (["completion", "powershell"], 2, 'Choose from: "bash"'),
    (["jobs", "list"], 2, "Did you mean `assay jobs ls`?"),
    (["flow", "list"], 2, "Did you mean `assay flow ls`?"),
    (["collection", "show", "x"], 2, "Did you mean `assay collection get`?"),
    (["files", "delete", "x"], 2, "Did you mean `assay files rm`?"),
    (["undo"], 2, "Did you mean `assay flow undo`?"),
    (["run", "a.py"], 2, "Did you mean `assay execute`?"),
    (["templates"], 2, 'Unknown command "templates". See'),
    (["jobs", "get"], 2, "ID is missing"),
    (["result"], 2, "ID is missing"),
    (["search", "x", "-c"], 2, "-c needs a value"),
    (["transform", "total", "sales.csv"], 2, 'the file comes first, then the task: assay transform sales.csv "total"'),
    (["transform", "total by city " * 40, "sales.csv"], 2, "the file comes first, then the task"),
    (["transform", "nosuch.csv", "total by city " * 40], 2, "there is no file nosuch.csv"),
    (["transform", "*.nosuch", "sales.csv"], 2, "no file fits *.nosuch"),
    (["transform", "total by city " * 40, "total"], 2, "there is no file total by city"),
    (["doc", "run", "sales.csv"], 2, "sales.csv is a table, not a document"),
    (["doc", "check", "a.py"], 2, "a.py is a program, not a document"),
    (["ingest", "nothing", "-c", "x", "--create"], 2, "the folder nothing holds no files"),
    (["keys", "create"], 2, "--name is missing"),
    (
        ["endpoints", "add", "x", "--url", "http://[::1]:9/v1"],
        2,
        "URL is missing. --url chooses Assay's server in every command: give http://[::1]:9/v1 without an option.",
    ),
    (["listen"], 2, "--forward-to is missing"),
    (["flow", "edit", "x"], 2, "is missing"),
    (["webhooks", "remove-secret"], 2, "is missing"),
    (["execute", "-c", "1", "--label", "x"], 2, "'x' is not KEY=VALUE"),
    (["config", "use", "nosuch"], 2, "no profile 'nosuch'"),
    (["--profile", "nosuch", "jobs", "ls"], 2, "no profile 'nosuch'"),
    (["models", "set", "execution.transform", "gpt-4"], 2, "not PROVIDER/MODEL"),
    (["transform", "sales.csv", "--code", "sales.csv"], 2, "sales.csv is a table, not code"),
    (["flow", "import", "sales.csv"], 2, "sales.csv is a table, not a diagram"),
    (["api", "POST", "/v1/jobs", "--body", "[]"], 1, "body must be an object"),
    (["execute", "-c", "sales.csv"], 2, "sales.csv is a table, not a program"),
    (["execute", "-c", "a.py"], 2, "-c takes the program's text"),
    (
        ["transform", "https://example.com/a.csv", "total"],
        2,
        "https://example.com/a.csv is an address, not a file: download it first",
    ),
    (["detect", "git@github.com:a/b.git"], 2, "is not an https address of a repository"),
    (["transform", "sales.csv", "total", "--timeout", "-5"], 2, "--timeout"),
    (["jobs", "wait", "@last", "--timeout", "0"], 2, "--timeout"),
    (["execute", "a.py", "extra", "words"], 2, "Unexpected words: extra words. See"),
    (["execute", "-c", ""], 1, "code must not be empty"),
    (["files", "put", "mixed"], 2, "mixed is a folder, not a file"),
    (["collection", "create", "shop", "sales.csv"], 2, "assay ingest sales.csv -c shop --create"),
    (["collection", "create", "shop", "nosuch.csv"], 2, "there is no file nosuch.csv"),
    (["jobs", "get", "@latest"], 2, "the newest job is @last"),
    (["up", "-d", "--port", "9000"], 2, "It is a setting: ASSAY_PORT=VALUE assay up."),
    (["api", "FETCH", "/v1/jobs"], 2, "'FETCH' is not a method; use one of GET, POST"),
    (["api", "get", "/v1/jobs?stat=x"], 1, "stat is not a query parameter; this operation takes"),
    (["flow", "import", "flow.json"], 1, "Its `nodes` are not a list."),
    (["conversations", "show", "nosuch"], 3, "There is no conversation nosuch. List them: assay conversations ls"),
    (["prompts", "set", "execution.transform", "page.md"], 1, "text must use the variables fence, language"),
    (["transform", "bad.xlsx", "total"], 1, "data set 'data' (bad.xlsx) cannot be read"),
    # what the server refuses
    (["transform", "sales.csv", "total", "--name", "1x"], 1, "data.name must begin with a letter"),
    (["webhooks", "add-secret", "--secret", "abc"], 1, "secret must be whsec_ and the base64"),
    (["keys", "create", "--name", "x", "--scope", "read", "--tenant", "A B"], 1, "tenant must begin with a-z or 0-9"),
    (["api", "POST", "/v1/jobs", "--body", '{"kind":"execute","input":3}'], 1, "input must be an object"),
    (["execute", "a.py", "--wall-seconds", "100000"], 1, "wall_seconds must be at most 300"),
    (["jobs", "ls", "--state", "done"], 1, "state must be one of 'queued'"),
    (["jobs", "ls", "--limit", "1000"], 1, "limit must be at most 200"),
    (["api", "POST", "/v1/jobs", "--body", '{"kind":"exec","input":{}}'], 1, "kind must be one of 'execute'"),
    (["api", "POST", "/v1/jobs", "--body", '{"kind":"execute"'], 2, "the body is not JSON"),
    (["api", "POST", "/v1/jobs", "--body", "@bad.json"], 2, "the body is not JSON"),
    # not found is 3 everywhere
    (["jobs", "get", "nosuch"], 3, "List them: assay jobs ls"),
    (["jobs", "get", "01"], 3, "at least 4 characters"),
    (["jobs", "result", "nosuch"], 3, "There is no job nosuch"),
    (["files", "get", "nosuch"], 3, "List them: assay files ls"),
    (["files", "rows", "nosuch"], 3, "There is no file nosuch"),
    (["flow", "show", "nosuch"], 3, "There is no such flow. List them: assay flow ls"),
    (["flow", "undo", "nosuch"], 3, "There is no such flow"),
    (["collection", "get", "nosuch"], 3, "There is no collection nosuch"),
    (["search", "x", "-c", "nosuch"], 3, "There is no collection nosuch"),
    (["ingest", "sales.csv", "-c", "nosuch"], 3, "There is no collection nosuch"),
    (["prompts", "get", "nosuch"], 3, "There is no prompt 'nosuch'. The prompts are "),
    (["prompts", "get", "transform"], 3, "There is no prompt 'transform'. Did you mean execution.transform?"),
    (["prompts", "versions", "execution.transfrom"], 3, "Did you mean execution.transform?"),
    (["models", "set", "nosuch.role", "groq/x"], 3, "The roles are"),
    (["models", "set", "transform", "groq/x"], 3, "There is no role 'transform'. Did you mean execution.transform?"),
    (["models", "set", "flows.edit", "goq/x"], 3, "There is no provider 'goq'. Did you mean groq?"),
    (["endpoints", "test", "goq"], 3, "There is no endpoint 'goq'. Did you mean groq?"),
    (["eval", "show", "nosuch"], 3, "There is no evaluation"),
    (["endpoints", "test", "nosuch"], 3, "There is no"),
    (["keys", "revoke", "nosuch"], 3, "There is no"),
    (["webhooks", "remove-secret", "nosuch"], 3, "There is no"),
    # keys and servers
    (["--api-key", "ask_wrong", "jobs", "ls"], 4, "keys begin with ask_"),
    (["--api-key", "ask_ä", "jobs", "ls"], 4, "a letter beyond ASCII"),
    (["--api-key", "", "jobs", "ls"], 2, "--api-key needs a value"),
    (["--url", NOWHERE, "jobs", "ls"], 5, f"the server at {NOWHERE} cannot be reached"),
    (["--url", "127.0.0.1:8000", "jobs", "ls"], 2, "has to begin with http://"),
    (["--url", "https://nosuch.invalid", "jobs", "ls"], 5, "cannot be reached"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "status", "said"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_mistake_is_explained_once(desk: Shell, words: list[str], status: int, said: str) -> None:
    ran = desk(*words)
    assert ran.status == status, ran.talk + ran.out
    assert "Traceback" not in ran.talk
    assert "╭" not in ran.talk
    assert said in ran.talk
    lines = [line for line in ran.talk.splitlines() if re.match(r"assay: |job \S+ failed|There is no", line)]
    assert len(lines) == 1, ran.talk
    assert ran.talk.count(said) == 1, "said twice"


@pytest.mark.slow
def test_a_terminal_with_ascii_only_and_without_colors_reads_the_same(desk: Shell) -> None:
    ran = desk("jobs", "get", "nösuch", LC_ALL="C", NO_COLOR="1", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert ran.status == 3
    assert "Traceback" not in ran.talk


@pytest.mark.slow
def test_a_backup_replaces_no_other_file(desk: Shell) -> None:
    written(desk, "mine.csv", "a\n1\n")
    ran = desk("backup", "mine.csv")
    assert (ran.status, "mine.csv is not a backup" in ran.talk, "such as mine.backup" in ran.talk) == (2, True, True)
    assert (desk.folder / "mine.csv").read_text() == "a\n1\n"
    assert "mine.csv is not a whole backup of Assay" in desk("restore", "mine.csv").talk


@pytest.mark.slow
def test_a_download_replaces_no_file_that_was_not_named(desk: Shell) -> None:
    written(desk, "kept.csv", "old\n")
    id = desk("files", "put", "kept.csv").out.strip()
    written(desk, "kept.csv", "new\n")
    refused = desk("files", "get", id)
    assert (refused.status, "kept.csv exists: name another file with -o" in refused.talk) == (2, True)
    assert (desk.folder / "kept.csv").read_text() == "new\n"
    assert desk("files", "get", id, "-o", "-").out == "old\n"
    assert desk("files", "get", id, "-o", "kept.csv").status == 0
    assert (desk.folder / "kept.csv").read_text() == "old\n"


@pytest.mark.slow
def test_an_interrupt_names_the_job_that_continues(desk: Shell) -> None:
    words = Shell.command(["execute", "-c", "import time; time.sleep(20)"])
    running = subprocess.Popen(words, cwd=desk.folder, env=dict(desk.env), stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    said = ""
    while "started" not in said:
        said = running.stderr.readline()
    running.send_signal(signal.SIGINT)
    id = said.split()[1]
    assert f"interrupted; the job continues: assay jobs wait {id}" in running.communicate(timeout=30)[1]
    assert running.returncode == 130
    desk("jobs", "cancel", id)


@pytest.mark.slow
def test_words_beyond_ascii_are_read_in_a_locale_of_ascii(desk: Shell) -> None:
    ran = desk("execute", "-c", "print(len('öß'))", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert (ran.status, ran.out.strip()) == (0, "2")


@pytest.mark.slow
def test_an_interrupt_while_modules_load_ends_without_a_traceback(desk: Shell) -> None:
    """The command is stopped by the signal itself at any moment before it can handle it."""
    code = "import os, signal, threading; from assay.__main__ import main; "
    code += "threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start(); main()"
    ran = subprocess.run(
        [sys.executable, "-c", code, "jobs", "tail"], cwd=desk.folder, env=dict(desk.env), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in ran.stderr
    assert ran.returncode in (-signal.SIGINT, 130)


@pytest.mark.slow
def test_a_reader_that_leaves_is_no_error(desk: Shell) -> None:
    words = " ".join(Shell.command(["jobs", "ls", "--json"]))
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {words} | true"],
        cwd=desk.folder, env=dict(desk.env), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stderr == ""


@pytest.mark.slow
def test_a_proxy_that_is_in_the_way_is_named(desk: Shell) -> None:
    ran = desk("--url", "http://assay.example.org", "jobs", "ls", HTTP_PROXY=NOWHERE, http_proxy=NOWHERE)
    assert ran.status == 5
    assert "HTTP_PROXY" in ran.talk


@pytest.mark.slow
def test_a_port_in_use_is_named_with_its_setting(desk: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        home = str(desk.folder / "second")
        ran = desk("up", "-d", ASSAY_PORT=str(taken.getsockname()[1]), ASSAY_HOME=home)
    assert ran.status in {1, 2}
    assert "ASSAY_PORT" in ran.talk
    assert "Traceback" not in ran.talk


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(desk: Shell) -> None:
    closed = desk.folder / "closed"
    closed.mkdir(mode=0o500)
    ran = desk("transform", "sales.csv", "--code", "a.py", "-o", "closed/out.csv")
    assert ran.status != 0
    assert "closed" in ran.talk
    assert "Traceback" not in ran.talk


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "open('sales.csv')"), ("javascript", "require('fs').readFileSync('sales.csv')"),
        ("r", "read.csv('sales.csv')"), ("sql", "SELECT * FROM 'sales.csv'"),
    ],
)  # fmt: skip
def test_a_file_that_was_not_sent_is_named_with_its_option(desk: Shell, language: str, code: str) -> None:
    assert "add --file sales.csv" in desk("execute", "-c", code, "--language", language).talk
    assert "--file" not in desk("execute", "-c", code.replace("sales", "nosuch"), "--language", language).talk


@pytest.mark.slow
def test_a_document_names_the_file_that_was_not_sent_and_builds_on_the_last_job(desk: Shell) -> None:
    written(desk, "sums.md", "```python exec\nopen('sales.csv').read()\n```\n")
    assert "(the sandbox has no files of this machine: add --file sales.csv)" in desk("doc", "run", "sums.md").talk
    assert desk("doc", "run", "sums.md", "--file", "sales.csv").status == 0
    again = desk("doc", "run", "sums.md", "--file", "sales.csv", "--previous", "@last")
    assert again.status == 0
    assert "1 fresh" in again.talk


@pytest.mark.slow
def test_how_a_messy_file_was_read_is_printed_with_its_result(desk: Shell) -> None:
    (desk.folder / "umsatz.csv").write_bytes("Stadt;Betrag\nKöln;1,50\nMünchen;2,00\nSumme;3,50\n".encode("cp1252"))
    written(desk, "same.py", "result = data\n")
    ran = desk("transform", "umsatz.csv", "--code", "same.py", "-o", "same.csv")
    assert "how data was read: encoding windows-1252" in ran.talk
    assert "1 row seems to be a total of others (Stadt: Summe)" in ran.talk


@pytest.mark.slow
def test_a_plot_needs_the_ending_alone_and_never_gets_another_form_s_name(desk: Shell) -> None:
    written(desk, "plot.py", "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nresult = plt.gcf()\n")
    assert desk("transform", "sales.csv", "--code", "plot.py", "-o", "chart.png").status == 0
    renamed = desk("transform", "sales.csv", "--code", "plot.py", "-o", "line.svg")
    assert "saved line.png: the plot is .png, not .svg" in renamed.talk
    assert (desk.folder / "line.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "error",
    [
        "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "OSError: [Errno 101] Network is unreachable",
        "Error: getaddrinfo EAI_AGAIN example.com",
        "Error in file(file, \"rt\"): cannot open URL 'http://example.com/a.csv'",
        "IO Error: Could not establish connection error for HTTP HEAD to 'https://example.com/a.parquet'",
    ],
)
def test_a_program_that_reaches_no_host_is_told_how_to_get_its_data(error: str) -> None:
    assert "the sandbox has no network" in no_network(error)
    assert no_network("ValueError: no such name") == ""
