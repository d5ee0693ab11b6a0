"""Which files of an archive are worth keeping, decided by their paths while the stream passes by."""

from __future__ import annotations

from dataclasses import dataclass

from services.stacks.findings.secrets import SECRET_BYTES, may_hold_secret
from services.stacks.linguist.tables import DOMINANT, Tables
from services.stacks.locks.readers import FORMS as LOCK_FORMS
from services.stacks.manifests.kinds import REQUIREMENT_FOLDERS, kind_of
from services.stacks.phases.facts.code import ENTRIES
from services.stacks.phases.facts.configuration import CONFIGS, TOOL_SETTINGS
from services.stacks.phases.facts.languages import ENDINGS
from services.stacks.scan.filenames import is_noise
from services.stacks.scan.markers import MARKERS, is_marker
from services.stacks.scan.scanner import MAX_AMBIGUOUS, SMALL_TREE
from services.stacks.tree import HEAD_BYTES, MANIFEST_BYTES, NEVER_FIRST_PARTY

_READ = frozenset(
    (".gitignore", ".gitattributes", "libs.versions.toml", "gradle-wrapper.properties", "maven-wrapper.properties",
     "build.properties", "plugins.sbt", "launchSettings.json", "appsettings.json", "Directory.Build.props",
     "Directory.Packages.props", *CONFIGS, *MARKERS, *LOCK_FORMS)
)  # fmt: skip
_TOOL_SETTINGS = frozenset(place.rpartition("/")[2] for place in TOOL_SETTINGS)
_SETTINGS = ("vite.config.", "nuxt.config.", "vue.config.", "astro.config.")
_KUBERNETES = ("/k8s/", "/kubernetes/", "/deploy/", "/deployment/", "/manifests/", "/workflows/", "/.do/")
_UNKNOWN_BYTES = 4096
_MAX_UNKNOWN = 300


@dataclass
class ArchiveSelector:
    """Called once for every entry, in the order of the archive."""

    tables: Tables
    code: int = 0
    ambiguous: int = 0
    unknown: int = 0
    _folder: str = ""  #: of the entry before
    _foreign: bool = False  #: whether that lies in a folder that tools fill

    def __call__(self, path: str) -> int:
        folder, _, name = path.rpartition("/")
        if folder != self._folder:
            self._folder = folder
            self._foreign = not NEVER_FIRST_PARTY.isdisjoint(folder.split("/"))
        if self._foreign:
            return 0
        if name in _TOOL_SETTINGS and path.endswith(tuple(TOOL_SETTINGS)):
            return HEAD_BYTES
        if name in _READ or kind_of(name) is not None:
            return MANIFEST_BYTES
        if name.startswith((".env", "Dockerfile", *_SETTINGS)) or is_marker(name):
            return HEAD_BYTES
        if may_hold_secret(name):
            return SECRET_BYTES
        if name.endswith((".yml", ".yaml")) and (
            path.count("/") <= 1 or any(part in "/" + path for part in _KUBERNETES)
        ):
            return HEAD_BYTES * 4
        if name.endswith((".txt", ".in")) and (
            folder.rpartition("/")[2] in REQUIREMENT_FOLDERS or "constraints" in name
        ):
            return HEAD_BYTES
        return self._of_code(path, name)

    def _of_code(self, path: str, name: str) -> int:
        candidates = self.tables.candidates(name)
        if not candidates and "." in name.lstrip("."):
            return self._of_unknown(name)
        if candidates and not any(one in self.tables.counted for one in candidates):
            return 0
        self.code += 1
        ending = name[name.rfind(".") :].lower()
        if self.code <= SMALL_TREE + 1:
            return HEAD_BYTES
        if (len(candidates) > 1 and ending not in DOMINANT) or not candidates:
            self.ambiguous += 1
            return HEAD_BYTES if self.ambiguous <= MAX_AMBIGUOUS else 0
        entry = name.partition(".")[0].lower() in ENTRIES and name.endswith(ENDINGS)
        return HEAD_BYTES if entry and path.count("/") <= 7 else 0

    def _of_unknown(self, name: str) -> int:
        if is_noise(name):
            return 0
        self.unknown += 1
        return _UNKNOWN_BYTES if self.unknown <= _MAX_UNKNOWN else 0
