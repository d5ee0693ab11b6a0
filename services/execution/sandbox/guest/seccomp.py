"""The seccomp filter of job code: an allow-list, with rules for the calls whose arguments matter.

The call numbers are from the kernel's own headers. A call that is in no table is refused.
"""

from __future__ import annotations

import errno
import functools
import platform
import struct
from collections.abc import Mapping

_LOAD, _EQUAL, _GREATER_OR_EQUAL, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _MACHINE = 0, 4
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000

_NAMESPACES = 0x7E020000  #: every CLONE_NEW* that fits the flags of clone
_AF_UNIX = 1
_SOCK_DGRAM = 2  #: a datagram pair could still be pointed at another socket's address
_TERMINAL = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  #: TCGETS, sizes, FIONREAD, FIONBIO, FIOCLEX
#: Names, signals, reading. Not PR_SET_DUMPABLE: what forbids to look into it cannot be counted fairly.
_PRCTL = (1, 2, 3, 15, 16, 21, 23, 27, 29, 30, 37, 38, 39, 41, 42, 0x53564D41)
_CORE = 4  #: RLIMIT_CORE: at 1 no core reaches even a dump handler outside, so the code may not lower it to 0
_SO_SNDBUF, _SO_RCVBUF = 7, 8
_F_SETLEASE, _F_NOTIFY = 1024, 1026  #: word of what other sandboxes do with a file of the system
_FILE_KINDS = (0, 0o100000, 0o010000)  #: mknod may make plain files and FIFOs

Instruction = tuple[int, int, int, int]


def _low(argument: int) -> int:
    return 16 + 8 * argument


def _deny(code: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | code)


_PERMIT: Instruction = (_RETURN, 0, 0, _ALLOW)


def _one_of(argument: int, values: tuple[int, ...], otherwise: int, mask: int | None = None) -> list[Instruction]:
    body: list[Instruction] = [(_LOAD, 0, 0, _low(argument))]
    if mask is not None:
        body.append((_AND, 0, 0, mask))
    for value in values:
        body += [(_EQUAL, 0, 1, value), _PERMIT]
    return [*body, _deny(otherwise)]


def _none_of(argument: int, values: tuple[int, ...], otherwise: int) -> list[Instruction]:
    body: list[Instruction] = [(_LOAD, 0, 0, _low(argument))]
    for value in values:
        body += [(_EQUAL, 0, 1, value), _deny(otherwise)]
    return [*body, _PERMIT]


def _rules(memfd: bool) -> dict[str, list[Instruction]]:
    socketpair: list[Instruction] = [
        (_LOAD, 0, 0, _low(0)),
        (_EQUAL, 1, 0, _AF_UNIX),
        _deny(errno.EAFNOSUPPORT),
        (_LOAD, 0, 0, _low(1)),
        (_AND, 0, 0, 0xF),
        (_EQUAL, 0, 1, _SOCK_DGRAM),
        _deny(errno.EPROTONOSUPPORT),
        _PERMIT,
    ]
    prlimit: list[Instruction] = [
        (_LOAD, 0, 0, _low(1)),
        (_EQUAL, 1, 0, _CORE),
        _PERMIT,
        (_LOAD, 0, 0, _low(2)),  # both halves of the pointer to the new limit: reading the limit is allowed
        (_EQUAL, 0, 3, 0),
        (_LOAD, 0, 0, _low(2) + 4),
        (_EQUAL, 0, 1, 0),
        _PERMIT,
        _deny(errno.EPERM),
    ]
    return {
        "clone": [(_LOAD, 0, 0, _low(0)), (_ANY_BIT, 0, 1, _NAMESPACES), _deny(errno.EPERM), _PERMIT],
        # Its flags are in memory, which a filter cannot read; libraries fall back to clone on ENOSYS only.
        "clone3": [_deny(errno.ENOSYS)],
        "ioctl": _one_of(1, _TERMINAL, errno.ENOTTY),
        "prctl": _one_of(0, _PRCTL, errno.EPERM),
        "mknod": _one_of(1, _FILE_KINDS, errno.EPERM, mask=0o170000),
        "mknodat": _one_of(2, _FILE_KINDS, errno.EPERM, mask=0o170000),
        "setrlimit": [(_LOAD, 0, 0, _low(0)), (_EQUAL, 0, 1, _CORE), _deny(errno.EPERM), _PERMIT],
        "prlimit64": prlimit,
        "socketpair": socketpair,
        # A larger buffer would hold more than the meter takes it to hold.
        "setsockopt": _none_of(2, (_SO_SNDBUF, _SO_RCVBUF), errno.EPERM),
        "socket": [_deny(errno.EACCES)],
        # A lock on a file of the system is one for every sandbox: it would carry messages, and hold others up.
        "flock": [_deny(errno.ENOSYS)],
        "fcntl": _none_of(1, (_F_SETLEASE, _F_NOTIFY), errno.EPERM),
        # Memory without a name escapes every count but a cgroup's.
        "memfd_create": [_PERMIT if memfd else _deny(errno.ENOSYS)],
    }


def numbers(machine: str) -> Mapping[str, int]:
    """Name to number on this machine. Raises: KeyError for a machine that the filter does not know."""
    return {name: int(number) for name, _, number in (entry.partition("=") for entry in _CALLS[machine].split())}


@functools.cache
def program(memfd: bool) -> bytes:
    """Return the filter for this machine. Raises: KeyError for an unknown one."""
    machine = platform.machine()
    table = numbers(machine)
    code: list[Instruction] = [
        (_LOAD, 0, 0, _MACHINE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_GREATER_OR_EQUAL, 0, 1, _X32),
        _deny(errno.ENOSYS),
    ]
    rules = _rules(memfd)
    for name, body in rules.items():
        if name in table:
            code += [(_EQUAL, 0, len(body), table[name]), *body]
    for number in sorted(table[name] for name in table.keys() - rules.keys()):
        code += [(_EQUAL, 0, 1, number), _PERMIT]
    code.append(_deny(errno.EPERM))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


_X86_64 = """
access=21 alarm=37 arch_prctl=158 brk=12 capget=125 chdir=80 chmod=90 chown=92 clock_getres=229
clock_gettime=228 clock_nanosleep=230 clone=56 clone3=435 close=3 close_range=436 copy_file_range=326 creat=85
dup=32 dup2=33 dup3=292 epoll_create=213 epoll_create1=291 epoll_ctl=233 epoll_pwait=281 epoll_pwait2=441
epoll_wait=232 eventfd=284 eventfd2=290 execve=59 exit=60 exit_group=231 faccessat=269 faccessat2=439 fadvise64=221
fallocate=285 fchdir=81 fchmod=91 fchmodat=268 fchmodat2=452 fchown=93 fchownat=260 fcntl=72 fdatasync=75
fgetxattr=193 flistxattr=196 flock=73 fork=57 fstat=5 fstatfs=138 fsync=74 ftruncate=77 futex=202 futex_requeue=456
futex_wait=455 futex_waitv=449 futex_wake=454 futimesat=261 get_mempolicy=239 get_robust_list=274 getcpu=309
getcwd=79 getdents=78 getdents64=217 getegid=108 geteuid=107 getgid=104 getgroups=115 getitimer=36 getpeername=52
getpgid=121 getpgrp=111 getpid=39 getppid=110 getpriority=140 getrandom=318 getresgid=120 getresuid=118 getrlimit=97
getrusage=98 getsid=124 getsockname=51 getsockopt=55 gettid=186 gettimeofday=96 getuid=102 getxattr=191
ioctl=16 kill=62 lchown=94 lgetxattr=192 link=86
linkat=265 listxattr=194 llistxattr=195 lseek=8 lstat=6 madvise=28 map_shadow_stack=453 membarrier=324
memfd_create=319 mincore=27 mkdir=83 mkdirat=258 mknod=133 mknodat=259 mmap=9 mprotect=10 mremap=25
mseal=462 msync=26 munlock=150 munmap=11 nanosleep=35 newfstatat=262 open=2 openat=257 openat2=437 pause=34
pidfd_open=434 pidfd_send_signal=424 pipe=22 pipe2=293 pkey_alloc=330 pkey_free=331 pkey_mprotect=329 poll=7
ppoll=271 prctl=157 pread64=17 preadv=295 preadv2=327 prlimit64=302 pselect6=270 pwrite64=18 pwritev=296
pwritev2=328 read=0 readahead=187 readlink=89 readlinkat=267 readv=19 recvfrom=45 recvmsg=47 rename=82 renameat=264
renameat2=316 restart_syscall=219 rmdir=84 rseq=334 rt_sigaction=13 rt_sigpending=127 rt_sigprocmask=14
rt_sigqueueinfo=129 rt_sigreturn=15 rt_sigsuspend=130 rt_sigtimedwait=128 rt_tgsigqueueinfo=297
sched_get_priority_max=146 sched_get_priority_min=147 sched_getaffinity=204 sched_getattr=315 sched_getparam=143
sched_getscheduler=145 sched_rr_get_interval=148 sched_setaffinity=203 sched_yield=24 select=23 sendfile=40
sendmsg=46 sendto=44 set_robust_list=273 set_tid_address=218 setitimer=38 setpgid=109 setpriority=141 setrlimit=160
setsid=112 setsockopt=54 shutdown=48 sigaltstack=131 signalfd=282 signalfd4=289 socket=41 socketpair=53 splice=275
stat=4 statfs=137 statx=332 symlink=88 symlinkat=266 sync_file_range=277 sysinfo=99 tee=276
tgkill=234 time=201 timer_create=222 timer_delete=226 timer_getoverrun=225 timer_gettime=224 timer_settime=223
timerfd_create=283 timerfd_gettime=287 timerfd_settime=286 times=100 tkill=200 truncate=76 umask=95 uname=63
unlink=87 unlinkat=263 utime=132 utimensat=280 utimes=235 vfork=58 wait4=61 waitid=247 write=1 writev=20
"""

_AARCH64 = """
brk=214 capget=90 chdir=49 clock_getres=114 clock_gettime=403 clock_nanosleep=115 clone=220 clone3=435
close=57 close_range=436 copy_file_range=285 dup=23 dup3=24 epoll_create1=20 epoll_ctl=21 epoll_pwait=22
epoll_pwait2=441 eventfd2=19 execve=221 exit=93 exit_group=94 faccessat=48 faccessat2=439 fadvise64=223 fallocate=47
fchdir=50 fchmod=52 fchmodat=53 fchmodat2=452 fchown=55 fchownat=54 fcntl=25 fdatasync=83 fgetxattr=10 flistxattr=13
flock=32 fstat=80 fstatfs=44 fsync=82 ftruncate=46 futex=98 futex_requeue=456 futex_wait=455 futex_waitv=449
futex_wake=454 get_mempolicy=236 get_robust_list=100 getcpu=168 getcwd=17 getdents64=61 getegid=177 geteuid=175
getgid=176 getgroups=158 getitimer=102 getpeername=205 getpgid=155 getpid=172 getppid=173 getpriority=141
getrandom=278 getresgid=150 getresuid=148 getrlimit=163 getrusage=165 getsid=156 getsockname=204 getsockopt=209
gettid=178 gettimeofday=169 getuid=174 getxattr=8 ioctl=29
kill=129 lgetxattr=9 linkat=37 listxattr=11 llistxattr=12 lseek=62 madvise=233 map_shadow_stack=453 membarrier=283
memfd_create=279 mincore=232 mkdirat=34 mknodat=33 mmap=222 mprotect=226 mremap=216 mseal=462 msync=227
munlock=229 munmap=215 nanosleep=101 newfstatat=79 openat=56 openat2=437 pidfd_open=434 pidfd_send_signal=424
pipe2=59 pkey_alloc=289 pkey_free=290 pkey_mprotect=288 ppoll=73 prctl=167 pread64=67 preadv=69 preadv2=286
prlimit64=261 pselect6=72 pwrite64=68 pwritev=70 pwritev2=287 read=63 readahead=213 readlinkat=78 readv=65
recvfrom=207 recvmsg=212 renameat=38 renameat2=276 restart_syscall=128 rseq=293 rt_sigaction=134 rt_sigpending=136
rt_sigprocmask=135 rt_sigqueueinfo=138 rt_sigreturn=139 rt_sigsuspend=133 rt_sigtimedwait=137 rt_tgsigqueueinfo=240
sched_get_priority_max=125 sched_get_priority_min=126 sched_getaffinity=123 sched_getattr=275 sched_getparam=121
sched_getscheduler=120 sched_rr_get_interval=127 sched_setaffinity=122 sched_yield=124 sendfile=71 sendmsg=211
sendto=206 set_robust_list=99 set_tid_address=96 setitimer=103 setpgid=154 setpriority=140 setrlimit=164 setsid=157
setsockopt=208 shutdown=210 sigaltstack=132 signalfd4=74 socket=198 socketpair=199 splice=76 statfs=43 statx=291
symlinkat=36 sync_file_range=84 sysinfo=179 tee=77 tgkill=131 timer_create=107 timer_delete=111
timer_getoverrun=109 timer_gettime=408 timer_settime=409 timerfd_create=85 timerfd_gettime=410 timerfd_settime=411
times=153 tkill=130 truncate=45 umask=166 uname=160 unlinkat=35 utimensat=88 wait4=260 waitid=95 write=64 writev=66
"""

_CALLS = {"x86_64": _X86_64, "aarch64": _AARCH64}
