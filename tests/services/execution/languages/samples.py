"""The same small programs in each language, for one suite of all kernels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    language: str
    define: str  #: makes x, a number that is 41
    more: str  #: an expression of it that is 42
    value: str  #: of a program: its last expression, 42
    shown: str  #: text in the view of that value
    fails: str
    error: str  #: part of the message
    forever: str
    dies: str | None  #: ends its own kernel
    large: str  #: makes x, of many bytes
    prints: str | None = None  #: a é b on stdout, then oops on stderr
    displays: str | None = None
    figure: str | None = None  #: makes x, a figure
    waits: str | None = None  #: for ever, without computing


SAMPLES = (
    Sample(
        "python",
        define="x = 41",
        more="x + 1",
        value="y = 1\nx + y",
        shown="42",
        fails="def f():\n    return 1 / 0\nf()",
        error="division by zero",
        forever="while True: pass",
        dies="import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        large="x = 'x' * 300_000_000",
        prints="import sys\nprint('a é b')\nprint('oops', file=sys.stderr)",
        displays="display('one')\ndisplay({'k': 1})",
        figure="import matplotlib.pyplot as plt\nx, axes = plt.subplots()\naxes.plot([1, 2])",
        waits="import time\ntime.sleep(1e6)",
    ),
    Sample(
        "r",
        define="x <- 41L",
        more="x + 1L",
        value="y <- 1L\nx + y",
        shown="42",
        fails="f <- function() stop('a bad thing')\nf()",
        error="a bad thing",
        forever="while (TRUE) {}",
        dies="tools::pskill(Sys.getpid(), 9L)",
        large="x <- strrep('x', 300000000)",
        prints="cat('a é b\\n')\nmessage('oops')",
        displays="display('one')\ndisplay(1:3)",
        figure="library(ggplot2)\nx <- ggplot(mtcars, aes(wt, mpg)) + geom_point()",
        waits="Sys.sleep(1e6)",
    ),
    Sample(
        "javascript",
        define="var x = 41",
        more="x + 1",
        value="var y = 1\nx + y",
        shown="42",
        fails="function f() { throw new TypeError('a bad thing') }\nf()",
        error="a bad thing",
        forever="while (true) {}",
        dies="process.kill(process.pid, 'SIGKILL')",
        large="var x = 'x'.repeat(300_000_000)",
        prints="console.log('a é b')\nconsole.error('oops')",
        displays="display('one')\ndisplay({k: 1})",
        waits="await new Promise((done) => setTimeout(done, 1e9))",
    ),
    Sample(
        "sql",
        define="set variable x = 41",
        more="getvariable('x') + 1",
        value="create or replace table y as select 1 as n; select getvariable('x') + n as m from y",
        shown="42",
        fails="select no_such_column from range(3)",
        error="no_such_column",
        forever="select count(*) from range(1000000000000) where range % 7 = 8",  # no memory, end, or ear for signals
        dies=None,
        large="create or replace table x as select range as n from range(20_000_000)",
    ),
)
