"""Where an attack looks different on gVisor: what it sees there is denied, or is a thing of gVisor's own kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tests.services.execution.sandbox.attacks import MEMORY, Attack, every

#: The value there, and why it is another one.
_VALUES: Mapping[str, tuple[str, str]] = {
    "27-kernel-settings": (every("EACCES", "ENOENT"), "its own settings, closed"),
    "30-first-process's-environment": ("'EACCES'", "it hides no process by its options; it is another user's"),
    "31-other-processes": ("False", "the number of the first process is seen, and nothing else of it"),
    "31-parent's-memory": ("('EACCES', 1)", "another user's"),
    "33-inherited-descriptors": ("False", "the streams are named pipes; there are no others"),
    "52-priority": (every("allowed", "EPERM", "EPERM"), "the priority is one among the processes of its own kernel"),
    "53-control-groups": ("[False, True]", "an empty folder that cannot be read"),
    "64-kernel's-own-news": (
        every("ENOENT", "ENOENT", "allowed", "EACCES", "ENOENT"),
        "what is told of memory is its own kernel's count",
    ),
}
#: A fork takes about ten megabytes of its kernel's memory, so that many of them may reach that limit first.
_FORKING = ("fork bomb", "patient fork bomb")
#: Code that reads in another way what gVisor's status files do not have.
_CODES: Mapping[str, str] = {
    "49-privileges": "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
    "told = [status[name].strip().lstrip('0') for name in ('CapEff', 'CapPrm', 'CapBnd')]\n"
    "[*told, '', str(_libc.prctl(39, 0, 0, 0, 0)), status['Seccomp'].strip()]"
}


def on_gvisor(attack: Attack) -> Attack:
    """The attack with what it must come to there."""
    name = str(attack)
    if attack.name in _FORKING:
        attack = replace(attack, verdicts=(*attack.verdicts, MEMORY))
    if name in _VALUES:
        attack = replace(attack, value=_VALUES[name][0])
    return replace(attack, code=_CODES.get(name, attack.code))
