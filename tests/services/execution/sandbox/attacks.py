"""Programs that try to break out, to hoard or to lie. Harmless to the host should one of them get through:
files are opened without being written, sockets are made without being connected, canaries are ours."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.contracts.execute import Verdict

OK, USER_ERROR, SIGNAL = Verdict.OK, Verdict.USER_ERROR, Verdict.SIGNAL
MEMORY, DISK, OUTPUT, PROCESSES = Verdict.MEMORY, Verdict.DISK, Verdict.OUTPUT, Verdict.PROCESSES
TIMEOUT = (Verdict.TIMEOUT_WALL, Verdict.TIMEOUT_CPU)

#: Every attack runs behind this: ``tried(f)`` is the name of the errno, or ``allowed``.
PRELUDE = """
import ctypes, errno, os
def tried(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return 'allowed'
_libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = _libc.syscall(ctypes.c_long(number), *[ctypes.c_long(each) for each in arguments])
    return 'allowed' if result >= 0 else errno.errorcode.get(ctypes.get_errno(), 'other')
"""


@dataclass(frozen=True)
class Attack:
    """``number`` is its place in the list of behaviours; ``value`` the text that the last expression must have."""

    number: int
    name: str
    code: str
    verdicts: tuple[Verdict, ...] = (OK,)
    value: str | None = None
    limits: dict[str, float] = field(default_factory=dict)
    needs: str | None = None  #: the machine that the code speaks to
    language: str = "python"

    def __str__(self) -> str:
        return f"{self.number}-{self.name.replace(' ', '-')}"


def every(*results: str) -> str:
    """The repr of a list with these texts."""
    return repr(list(results))


HOARDS = [
    Attack(1, "fork bomb", "while True: os.fork()", (PROCESSES, *TIMEOUT)),
    Attack(
        1,
        "patient fork bomb",
        "while True:\n    try: os.fork()\n    except OSError: pass",
        (PROCESSES, *TIMEOUT),
        limits={"processes": 20},
    ),
    Attack(3, "busy loop", "while True: pass", TIMEOUT),
    Attack(4, "endless sleep", "import time; time.sleep(1e6)", (Verdict.TIMEOUT_WALL,)),
    Attack(
        5,
        "deaf to signals",
        "import signal\nfor n in (1, 2, 3, 14, 15, 24): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
        TIMEOUT,
    ),
    Attack(6, "huge allocation", "bytearray(10**12)", (MEMORY,)),
    Attack(6, "growing allocation", "x = []\nwhile True: x.append(bytearray(10**7))", (MEMORY,)),
    Attack(
        7,
        "allocation over children",
        "import time\n"
        "for _ in range(6):\n"
        "    if os.fork() == 0:\n"
        "        x = bytearray(os.urandom(1)) * (60 * 10**6); time.sleep(60); os._exit(0)\n"
        "time.sleep(60)",
        (MEMORY,),
    ),
    Attack(
        8,
        "shared memory",
        "import mmap\nkeep = []\nwhile True:\n    m = mmap.mmap(-1, 10**7); m.write(b'x' * 10**7); keep.append(m)",
        (MEMORY,),
    ),
    Attack(8, "tmpfs", "f = open('/dev/shm/x', 'wb')\nwhile True: f.write(bytes(10**6))", (DISK, MEMORY)),
    Attack(
        8,
        "memfd",
        "kept = []\ndef hoard():\n    while True:\n        d = os.memfd_create('x'); kept.append(d)\n"
        "        os.write(d, b'x' * 10**7)\n"
        "try: hoard()\nexcept OSError as error: name = errno.errorcode[error.errno]\nname",
        (MEMORY, OK),
    ),
    Attack(9, "stdout flood", "while True: print('x' * 10**5)", (OUTPUT,)),
    Attack(10, "stderr flood", "import sys\nwhile True: sys.stderr.write('x' * 10**5)", (OUTPUT,)),
    Attack(11, "one line of a gigabyte", "import sys\nwhile True: sys.stdout.write('x' * 10**6)", (OUTPUT,)),
    Attack(14, "fallocate", "os.posix_fallocate(os.open('x', os.O_CREAT | os.O_RDWR), 0, 10**12)", (DISK,)),
    Attack(15, "a million files", "for n in range(10**6): open(str(n), 'w').close()", (DISK,)),
    Attack(16, "sparse petabyte", "os.truncate(os.open('x', os.O_CREAT | os.O_RDWR), 2**50)", (DISK,)),
    Attack(36, "stops itself", "os.kill(os.getpid(), 19)", (Verdict.TIMEOUT_WALL,)),
    Attack(54, "segfault", "import ctypes; ctypes.string_at(0)", (SIGNAL,)),
    Attack(54, "abort", "os.abort()", (SIGNAL,)),
    Attack(54, "kills itself", "os.kill(os.getpid(), 9)", (SIGNAL,)),
    Attack(55, "leaves before a result", "os._exit(0)", (Verdict.USER_ERROR,)),
    Attack(
        63,
        "all descriptors",
        "kept = []\ndef hoard():\n    while True: kept.append(os.pipe())\ntried(hoard)",
        value="'EMFILE'",
    ),
    Attack(
        63,
        "socket pairs",
        "import socket\nkept = []\ndef hoard():\n    while True: kept.append(socket.socketpair())\ntried(hoard)",
        value="'EMFILE'",
    ),
    Attack(
        63,
        "many threads",
        "import threading, time\n"
        "for _ in range(10**5): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        (PROCESSES,),
    ),
    Attack(65, "power tower", "9**9**9", (*TIMEOUT, MEMORY)),
    Attack(65, "regex", "import re; re.match(r'(a+)+$', 'a' * 64 + 'b')", TIMEOUT),
    Attack(65, "giant string", "x = 'x' * 10**11", (MEMORY,)),
    Attack(65, "deep syntax", "eval('(' * 10**5 + ')' * 10**5)", (USER_ERROR, MEMORY, SIGNAL)),
]

#: For what burns on for seconds: that it is counted shows as well after half a second.
_SOON: dict[str, float] = {"cpu_seconds": 0.5}
#: What hides from being counted, where no control group counts.
HIDERS = [
    Attack(7, "not to be looked into", "_libc.prctl(4, 0, 0, 0, 0)\nif os.fork() == 0: hold()\nfill(250); hold()",
           (MEMORY,)),
    Attack(7, "children not to be looked into", "for _ in range(5):\n    if os.fork() == 0:\n"
           "        _libc.prctl(4, 0, 0, 0, 0); fill(60); hold()\nhold()", (MEMORY,)),
    Attack(7, "without its first thread", "import threading\n"
           "threading.Thread(target=lambda: (fill(250), hold())).start()\n"
           "_libc.syscall(93 if platform.machine() == 'aarch64' else 60, 0)", (MEMORY,)),
    Attack(7, "many small ones", "for _ in range(8):\n    if os.fork() == 0: fill(60); hold()\nhold()", (MEMORY,)),
    Attack(3, "many short ones that nobody waits for", "signal.signal(17, signal.SIG_IGN)\nwhile True:\n"
           "    if os.fork() == 0: burn(0.05); os._exit(0)\n    time.sleep(0.04)", (Verdict.TIMEOUT_CPU,)),
    Attack(3, "many short grandchildren", "while True:\n    if os.fork() == 0:\n        if os.fork() == 0: burn(0.05)\n"
           "        os._exit(0)\n    os.wait(); time.sleep(0.04)", (Verdict.TIMEOUT_CPU,)),
    Attack(3, "children that cannot be looked into", "_libc.prctl(4, 0, 0, 0, 0)\nif os.fork() == 0: burn(9)\nhold()",
           (Verdict.TIMEOUT_CPU,), limits=_SOON),
]  # fmt: skip

#: Names that processes give themselves, each of which looks like something else in what the kernel reports of them.
NAMES = (
    b"\rRssAnon:", b"\rRssAnon:\t0 kB", b"\rThreads:", b"\nRssAnon:\t0", b"a) R 0 0 0 (", b")", b"\xff\xfe",
    b"\x0bVmRSS:\x0c",
    b"\x1cRssAnon:", b"\xe2\x80\xa8Rss", b"Threads:\r", b"\\nRssAnon:", b" ", b"",
)  # fmt: skip
HIDERS += [
    Attack(7, f"memory under the name {name!r}", f"called({name!r})\nfill(250); hold()", (MEMORY,))
    for name in NAMES[:6]
] + [
    Attack(7, f"children under the name {name!r}",
           f"called({name!r})\nfor _ in range(5):\n    if os.fork() == 0: fill(60); hold()\nhold()", (MEMORY,))
    for name in NAMES[:2]
] + [
    Attack(3, f"time under the name {name!r}", f"called({name!r})\nburn(9)", (Verdict.TIMEOUT_CPU,), limits=_SOON)
    for name in NAMES[:2]
] + [
    Attack(7, "children without their first threads", "import threading\nfor _ in range(5):\n    if os.fork() == 0:\n"
           "        threading.Thread(target=lambda: (fill(60), hold())).start()\n"
           "        _libc.syscall(93 if platform.machine() == 'aarch64' else 60, 0)\nhold()", (MEMORY,)),
    Attack(7, "memory in many pieces", "import mmap\nfor n in range(30000):\n    kept.append(mmap.mmap(-1, 8192))\n"
           "    if n % 2: kept[-1].write(b'x' * 8192)\n"
           "for _ in range(5):\n    if os.fork() == 0: fill(60); hold()\nhold()", (MEMORY,)),
    Attack(7, "beside children that share it", "fill(250)\nfor _ in range(3):\n    if os.fork() == 0: hold()\nhold()",
           (MEMORY,)),
    Attack(7, "beside a child", "if os.fork() == 0: hold()\nfill(250); hold()", (MEMORY,)),
    Attack(8, "page tables", "_libc.mmap.restype = ctypes.c_void_p\n"
           "start = _libc.mmap(None, ctypes.c_size_t(1 << 41), 1, 0x4022, -1, ctypes.c_long(0))\n"
           "for place in range(start, start + (1 << 41), 1 << 21): ctypes.string_at(place, 1)", (MEMORY,)),
    Attack(8, "full sockets", "import socket\ndef stuff(end):\n    end.setblocking(False)\n    try:\n"
           "        while True: end.send(bytes(60000))\n    except BlockingIOError: pass\n"
           "def hoard():\n    while True:\n        for end in socket.socketpair(): kept.append(end); stuff(end)\n"
           "for _ in range(12):\n    if os.fork() == 0:\n        tried(hoard); hold()\nhold()", (MEMORY,)),
    Attack(7, "stopped children", "for _ in range(5):\n"
           "    if os.fork() == 0: fill(60); os.kill(os.getpid(), 19)\nhold()", (MEMORY,)),
]  # fmt: skip
HIDING = """
import platform, signal, time
def called(name): _libc.prctl(15, name, 0, 0, 0)
kept = []
def hold(): time.sleep(100)
def fill(megabytes): kept.append(bytearray(b'x') * (megabytes * 10**6))
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""

REACHES = [
    Attack(13, "child holds stdout", "import subprocess; subprocess.Popen(['sleep', '60']); 'done'", value="'done'"),
    Attack(
        26,
        "writes to the system",
        "[tried(open, path, 'w') in ('EROFS', 'EACCES', 'EPERM')"
        " for path in ('/x', '/usr/x', '/etc/x', '/runtime/x', '/bin/sh', '/store/x')]",
        value=repr([True] * 6),
    ),
    Attack(
        27,
        "kernel settings",
        "[tried(open, path, 'r+') for path in ('/proc/sys/kernel/hostname', '/proc/sysrq-trigger')]",
        value=every("ENOENT", "ENOENT"),
    ),
    Attack(
        28,
        "secrets of the host",
        "[tried(open, path) for path in ('/etc/shadow', '/root/.ssh/id_rsa', '/var/run/docker.sock', '/home')]",
        value=every("ENOENT", "ENOENT", "ENOENT", "ENOENT"),
    ),
    Attack(30, "first process's environment", "tried(open, '/proc/1/environ')", value="'ENOENT'"),
    Attack(
        31,
        "other processes",
        "[int(name) for name in os.listdir('/proc') if name.isdigit()] == [os.getpid()]",
        value="True",
    ),
    Attack(31, "parent's memory", "(tried(open, '/proc/1/mem', 'r+b'), os.getppid())", value="('ENOENT', 1)"),
    Attack(
        33,
        "inherited descriptors",
        "sorted(int(name) for name in os.listdir('/proc/self/fd') if int(name) < 100 and os.path.exists("
        "f'/proc/self/fd/{name}')) and all(os.readlink(f'/proc/self/fd/{n}').startswith('pipe:') for n in range(5))"
        " and [tried(os.fstat, n) for n in range(5, 256)].count('allowed')",
        value="0",
    ),
    Attack(
        34,
        "other memory",
        "[call(n, 1, 0, 0, 0, 0, 0) for n in (101, 310, 311, 438)]",
        value=every("EPERM", "EPERM", "EPERM", "EPERM"),
        needs="x86_64",
    ),
    Attack(35, "kills everyone", "tried(os.kill, 1, 9), tried(os.kill, -1, 9) in ('allowed', 'ESRCH')"),
    Attack(
        37,
        "network",
        "import socket\n[tried(socket.socket, family, kind) for family in (socket.AF_INET, socket.AF_INET6)"
        " for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]",
        value=every("EACCES", "EACCES", "EACCES", "EACCES"),
    ),
    Attack(
        37,
        "name service",
        "import socket\ntry: socket.getaddrinfo('example.com', 80)\nexcept OSError: seen = 'denied'\nseen",
        value="'denied'",
    ),
    Attack(
        38,
        "loopback",
        "import socket\n[tried(socket.create_connection, ('127.0.0.1', port), 1) for port in (5432, 6379, 80)]",
        value=every("EACCES", "EACCES", "EACCES"),
    ),
    Attack(39, "unix sockets", "import socket\ntried(socket.socket, socket.AF_UNIX)", value="'EACCES'"),
    Attack(
        40,
        "odd families",
        "import socket\n[tried(socket.socket, family, kind) for family, kind in"
        " ((16, 3), (17, 3), (38, 5), (40, 1), (2, 3), (44, 3))]",
        value=every(*["EACCES"] * 6),
    ),
    Attack(40, "odd pairs", "[call(53, family, 1, 0, 0) for family in (2, 16, 30)]", value=every(*["EAFNOSUPPORT"] * 3),
           needs="x86_64"),
    Attack(41, "new namespaces", "[call(272, flag) for flag in (0x10000000, 0x20000, 0x40000000)] + [call(308, 0, 0)]",
           value=every(*["EPERM"] * 4), needs="x86_64"),
    Attack(42, "clone into a namespace", "[call(56, 0x10000000 | 17, 0, 0, 0, 0), call(435, 0, 0)]",
           value=every("EPERM", "ENOSYS"), needs="x86_64"),
    Attack(43, "mounts", "[call(n, 0, 0, 0, 0, 0) for n in (165, 166, 155, 161)]", value=every(*["EPERM"] * 4),
           needs="x86_64"),
    Attack(44, "new mounts", "[call(n, 0, 0, 0, 0, 0) for n in (428, 429, 430, 431, 432, 433, 442)]",
           value=every(*["EPERM"] * 7), needs="x86_64"),
    Attack(45, "kernel doors", "[call(n, 0, 0, 0, 0, 0) for n in (425, 426, 427, 321, 323, 298)]",
           value=every(*["EPERM"] * 6), needs="x86_64"),
    Attack(46, "keys and modules", "[call(n, 0, 0, 0, 0, 0) for n in (248, 249, 250, 246, 175, 313, 135, 169, 103)]",
           value=every(*["EPERM"] * 9), needs="x86_64"),
    Attack(47, "x32", "call(0x40000000 + 39)", value="'ENOSYS'", needs="x86_64"),
    Attack(
        47,
        "int 80",
        "import mmap\npage = mmap.mmap(-1, 4096, prot=7)\npage.write(bytes.fromhex('b814000000cd80c3'))\n"
        "ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()",
        (SIGNAL,),
        needs="x86_64",
    ),
    Attack(
        48,
        "devices",
        "[tried(os.mknod, 'x', 0o60600, 0x100), tried(os.mknod, 'y', 0o20600, 0x101)]"
        " + [tried(open, f'/dev/{name}') for name in ('mem', 'kvm', 'sda', 'vda', 'fuse')]",
        value=every("EPERM", "EPERM", *["ENOENT"] * 5),
    ),
    Attack(
        49,
        "privileges",
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "[status[name].strip().lstrip('0')"
        " for name in ('CapEff', 'CapPrm', 'CapBnd', 'CapAmb', 'NoNewPrivs', 'Seccomp')]",
        value=every("", "", "", "", "1", "2"),
    ),
    Attack(49, "becoming root", "[tried(function, 0) for function in (os.setuid, os.setgid)]",
           value=every("EPERM", "EPERM")),
    Attack(50, "terminal", "import fcntl\n[tried(fcntl.ioctl, 0, 0x5412, b'x'), tried(fcntl.ioctl, 0, 0x541C, b'x')]",
           value=every("ENOTTY", "ENOTTY")),
    Attack(
        51,
        "higher limits",
        "import resource\ndef more(kind):\n    try: resource.setrlimit(kind, (10**9, 10**9))\n"
        "    except (ValueError, OSError): return 'denied'\n"
        "[more(kind) for kind in (resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)]",
        value=every("denied", "denied", "denied"),
    ),
    Attack(
        52,
        "priority",
        "[tried(os.nice, -5), tried(os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(50)), call(151, 3)]",
        value=every("EPERM", "EPERM", "EPERM"),
        needs="x86_64",
    ),
    Attack(
        53,
        "locks and watches on the system's files",
        "import fcntl\nfile = os.open('/usr/bin/env', os.O_RDONLY)\nfolder = os.open('/usr/bin', os.O_RDONLY)\n"
        "[tried(fcntl.flock, file, fcntl.LOCK_SH), tried(fcntl.fcntl, folder, 1026, 1),"
        " tried(fcntl.fcntl, file, 1024, 0), call(294, 0), call(451, file, 0, 0, 0)]",
        value=every("ENOSYS", "EPERM", "EPERM", "EPERM", "EPERM"),
        needs="x86_64",
    ),
    Attack(53, "control groups", "[os.path.exists(path) for path in ('/sys/fs/cgroup', '/sys')]",
           value="[False, False]"),
    Attack(57, "patched builtins", "import builtins, json\nbuiltins.print = None\nbuiltins.len = lambda x: 10**18\n"
           "json.dumps = lambda *a, **k: '{}'\n'patched'", value="'patched'"),
    Attack(57, "last words", "import atexit\natexit.register(lambda: os.kill(os.getpid(), 9))\n"
           "class Last:\n    def __del__(self): os.abort()\nkept = Last()\n'said'", (OK, SIGNAL)),
    Attack(64, "kernel's own news", "[tried(open, path) for path in ('/proc/kallsyms', '/proc/kcore', '/proc/meminfo',"
           " '/sys/kernel', '/dev/kmsg')]", value=every(*["ENOENT"] * 5)),
]  # fmt: skip

#: What code may do by the way that its kernel answers by. None of it may look like success, where the code then fails.
SPRAYS = {
    "random bytes": "__import__('random').Random(5).randbytes(5000)",
    "zeros": "bytes(64)",
    "half a head": "b'\\x00\\x00'",
    "half a frame": 'b\'\\x00\\x00\\x10\\x00{"t": "result", "error": null\'',
    "a size beyond all": "b'\\xff\\xff\\xff\\xff'",
    "an empty frame": "framed(b'')",
    "an empty object": "framed(b'{}')",
    "no object": "framed(b'[1]')",
    "no JSON": "framed(b'{result}')",
    "a result without a nonce": 'framed(b\'{"t": "result", "error": null, "value": null}\')',
    "a result with a guessed nonce": 'framed(b\'{"t": "result", "error": null, "nonce": "0011223344556677"}\')',
    "results without end": 'framed(b\'{"t": "result", "error": null, "nonce": ""}\') * 1000',
    "a hello": 'framed(b\'{"t": "hello", "nonce": ""}\')',
    "deep lists": "framed(b'[' * 10**6)",
    "a forest of lists": "framed(b'{\"a\": [' + b'[],' * 2 * 10**6 + b'[]]}')",
}
SPRAYING = """
import os, struct
def framed(body): return struct.pack('>I', len(body)) + body
def spray(data):
    for descriptor in range(3, 64):
        try:
            os.set_blocking(descriptor, True)
            left = data
            while left: left = left[os.write(descriptor, left):]
        except OSError: pass
"""
