"""What a sandbox must prove before it takes a job: harmless attempts to get out, and libraries that survive a fork."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from services.execution.sandbox.run import Outcome, Run
from shared.contracts.execute import Limits, Verdict
from shared.errors import SandboxUnavailable

#: Each line of output is the name of a wall that did not hold.
_ATTACKS = """
import ctypes, os, socket
def held(name, function, *arguments):
    try:
        function(*arguments)
    except OSError:
        return
    print(name)
def refused(name, result):
    if result >= 0:
        print(name)
libc = ctypes.CDLL(None, use_errno=True)
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16, 40):
    held('sockets', socket.socket, family)
for path in ('/x', '/usr/x', '/etc/x', '/runtime/x'):
    held('read-only root', open, path, 'w')
for path in ('/proc/1/environ', '/proc/sys/kernel/hostname', '/sys/kernel', '/etc/shadow', '/dev/kmsg'):
    held('hidden ' + path, open, path)
refused('namespaces', libc.unshare(0x10000000))
refused('mounts', libc.mount(b'none', b'/work', b'tmpfs', 0, None))
refused('tracing', libc.ptrace(0, 0, 0, 0))
held('root', os.setuid, 0)
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
for name, wanted in STATUS.items():
    if status[name].strip() != wanted:
        print(name)
if sorted(int(name) for name in os.listdir('/proc') if name.isdigit()) != [*SEEN, os.getpid()]:
    print('processes')
if libc.prctl(39, 0, 0, 0, 0) != 1:
    print('new privileges')
if 0 in os.getresuid() or MAPPED and open('/proc/self/uid_map').read().split()[1] == '0':
    print('user id 0')
"""

_CAPABILITIES = {"CapEff": "0" * 16, "CapBnd": "0" * 16, "Seccomp": "2"}
#: What the kernel of a tier shows: lines of a status, processes other than the code's own, and whether user ids are
#: mapped. gVisor's has no line about new privileges, hides no process number, and maps nothing to this machine's users.
_SHOWN: Mapping[bool, str] = {
    False: f"STATUS, SEEN, MAPPED = { ({**_CAPABILITIES, 'NoNewPrivs': '1'})!r}, [], True\n",
    True: f"STATUS, SEEN, MAPPED = {_CAPABILITIES!r}, [1], False\n",
}

_LIBRARIES = """
import importlib.util
def there(name):
    return importlib.util.find_spec(name) is not None
if there('numpy'):
    import numpy; assert (numpy.arange(9).reshape(3, 3) @ numpy.eye(3)).sum() == 36
if there('pandas'):
    import pandas; assert pandas.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}).groupby('k').v.sum()['a'] == 4
if there('pyarrow'):
    import pyarrow.compute; assert pyarrow.compute.sum(pyarrow.array([1, 2])).as_py() == 3
if there('duckdb'):
    import duckdb; assert duckdb.connect().execute('SELECT sum(range) FROM range(10)').fetchone()[0] == 45
if there('polars'):
    import polars; assert polars.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]}).group_by('k').agg(polars.col('v').sum()).height == 2
if there('matplotlib'):
    import io, matplotlib.pyplot as plt
    plt.plot([1, 2]); plt.savefig(io.BytesIO()); plt.close('all')
"""  # noqa: E501


def prove(run: Callable[[Run], AbstractContextManager[Outcome]], gvisor: bool = False) -> None:
    """Raise SandboxUnavailable, naming the boundary that did not hold."""
    limits = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=1024)
    with run(Run("python", _SHOWN[gvisor] + _ATTACKS, limits=limits, collect=False)) as outcome:
        if outcome.verdict is not Verdict.OK:
            why = f"{outcome.verdict}" if outcome.error is None else f"{outcome.verdict}: {outcome.error.message[:200]}"
            raise SandboxUnavailable(f"The self-test of the sandbox did not finish ({why}).")
        if outcome.stdout:
            holes = ", ".join(sorted(set(outcome.stdout.split("\n")) - {""}))
            raise SandboxUnavailable(f"These walls of the sandbox do not hold here: {holes}.")
    with run(Run("python", _LIBRARIES, limits=limits, collect=False)) as outcome:
        if outcome.verdict is not Verdict.OK:
            what = outcome.error.message if outcome.error is not None else outcome.verdict
            raise SandboxUnavailable(f"A library does not survive the fork of the warm interpreter ({what[:200]}).")
