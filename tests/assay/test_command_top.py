"""`assay top`: one screen of what waits, who works, who answers and for whom."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import termios
from contextlib import suppress

import pytest

from tests.assay.terminal import Shell, written
from tests.support.wait import until


@pytest.mark.slow
def test_a_pipe_gets_one_screen_and_json_what_the_server_said(shell: Shell) -> None:
    job = shell("execute", written(shell, "p.py", "1"), "--json").json
    assert job["state"] == "succeeded"
    ran = shell("top")
    assert ran.status == 0, ran.talk
    lines = [line.split("\t") for line in ran.out.splitlines()]
    heads = [line[0] for line in lines if line[0]]
    assert heads == ["queues", "workers", "providers", "tenants today"]
    assert any(line[:2] == ["", "execution"] and line[4] == "yes" for line in lines)
    assert any(line[:2] == ["", "default"] and int(line[2].replace(",", "")) >= 1 for line in lines)
    assert shell("top", "--json").json.keys() == {"queues", "workers", "providers", "tenants"}


@pytest.mark.slow
def test_whoever_is_no_admin_sees_what_the_key_may_see(shell: Shell) -> None:
    key = shell("keys", "create", "--name", "reader", "--scope", "read", "--json").json["key"]
    ran = shell("top", "--api-key", key)
    assert ran.status == 0, ran.talk
    assert "\texecute\t" in ran.out
    assert "\tdefault\t" not in ran.out


@pytest.mark.slow
def test_a_terminal_is_drawn_until_ctrl_c(shell: Shell) -> None:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (60, 120))
    command = shell.command(["top", "--seconds", "0.5"])
    env = {**shell.env, "TERM": "xterm"}
    running = subprocess.Popen(command, cwd=shell.folder, env=env, stdin=theirs, stdout=theirs, stderr=subprocess.PIPE)
    os.close(theirs)
    os.set_blocking(ours, False)
    drawn = bytearray()

    def read() -> bytes:
        with suppress(OSError):  # nothing more yet, or no more at all
            drawn.extend(os.read(ours, 65536))
        return bytes(drawn)

    try:
        until(lambda: read().count(b"queues") >= 2, "a second screen", 120)
        running.send_signal(signal.SIGINT)
        until(lambda: read() is not None and running.poll() is not None, "its end", 120)
        assert running.returncode == 0
        assert running.stderr is not None
        assert running.stderr.read() == b""
    finally:
        running.kill()
        running.wait()
        if running.stderr is not None:
            running.stderr.close()
        os.close(ours)
