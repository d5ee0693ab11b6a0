"""The meaning of a file name, if any: one dictionary lookup per file, learned once per ending or name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.stacks.linguist.tables import DOMINANT, Tables
from services.stacks.manifests.kinds import EXACT, ManifestKind, kind_of
from services.stacks.scan.markers import MARKER_ENDINGS, MARKERS

#: How many names, and how many endings, are cached; others are looked up again.
_MAX_KEPT = 20_000
#: Endings of manifests that only some names have.
_BY_NAME = frozenset((".txt", ".in", ".rkt"))
_NO_SOURCE_ENDINGS = tuple(
    [".d.ts", ".d.mts", ".d.cts", ".kts", ".gradle", "rc.js", "rc.cjs", "rc.mjs"]
    + [f".config.{module}{script}s" for module in ("", "c", "m") for script in "jt"]
)
_MAYBE_NO_SOURCE = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".kts", ".gradle")
_NO_SOURCE_NAMES = frozenset(
    ("setup.py", "conanfile.py", "Rakefile", "Gemfile", "Vagrantfile", "noxfile.py", "build.sbt")
)


@dataclass(frozen=True, slots=True)
class Meaning:
    candidates: Sequence[str]  #: languages, by linguist's names
    counted: bool  #: whether any of them is counted
    plain: bool  #: whether there is one of them, or no content would be read for more
    unknown: bool  #: no table knows it
    manifest: ManifestKind | None
    ending: str
    marker: bool  #: it says something about the packages below it
    telling: bool  #: whether it is a manifest, a marker or unknown: most names are not
    counts: bool  #: whether it may be code, which is measured
    likely: str | None  #: the assumed language where its content is not read
    settings: bool  #: whether names with that ending may be settings or declarations, and no source


@dataclass
class Names:
    tables: Tables
    by_name: dict[str, Meaning] = field(default_factory=dict)
    by_ending: dict[str, Meaning] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.tables.filenames, *EXACT, *MARKERS, *_NO_SOURCE_NAMES):
            self.by_name[name] = self._meaning(name)

    def learn(self, name: str, ending: str) -> Meaning:
        """Return the meaning of a name that is in neither dictionary; by its ending wherever that decides."""
        meaning = self._meaning(name)
        lower = ending.lower()
        decides = ending and name != ending and lower not in self.tables.long_endings and lower not in _BY_NAME
        known, key = (self.by_ending, ending) if decides else (self.by_name, name)
        if len(known) < _MAX_KEPT:
            known[key] = meaning
        return meaning

    def of(self, name: str) -> Meaning:
        ending = name[name.rfind(".") :] if "." in name else ""
        return self.by_name.get(name) or self.by_ending.get(ending) or self.learn(name, ending)

    def _meaning(self, name: str) -> Meaning:
        candidates = self.tables.candidates(name)
        ending = name[name.rfind(".") :].lower() if "." in name else ""
        counted = any(one in self.tables.counted for one in candidates)
        manifest, marker = kind_of(name), name in MARKERS or name.endswith(MARKER_ENDINGS)
        unknown = not candidates and "." in name[1:]
        likely = self.tables.likely(ending, candidates) if len(candidates) > 1 else next(iter(candidates), None)
        return Meaning(
            candidates, counted, len(candidates) == 1 or ending in DOMINANT, unknown, manifest, ending,
            marker, manifest is not None or marker or unknown, counted or not (candidates or unknown), likely,
            name in _NO_SOURCE_NAMES or name.endswith(_MAYBE_NO_SOURCE),
        )  # fmt: skip


def is_source(name: str) -> bool:
    """Return whether a name is of code that a package is written in: no declarations, no settings written as code."""
    return not name.endswith(_NO_SOURCE_ENDINGS) and name not in _NO_SOURCE_NAMES


#: Names that are neither sources nor manifests, although no language table knows them.
_NOISE = re.compile(
    r"(?i)\.(?:lock|log|env|example|sample|tmpl|tpl|template|dist|bak|orig|map|snap|pem|crt|cer|key|pub|csr|p12|png|jpe?g|gif"
    r"|ico|webp|avif|bmp|tiff?|woff2?|ttf|otf|eot|mp[34]|wav|ogg|webm|mov|pdf|docx?|xlsx?|pptx?|zip|gz|tgz|bz2|xz|zst|7z|jar"
    r"|war|class|pyc|so|dll|dylib|exe|bin|dat|db|sqlite3?|parquet|arrow|npy|pkl|onnx|pt|h5|wasm|sum|mod|work|prefs|local"
    r"|properties|plist|entitlements|sln|suo|user|iml|keep|gitkeep|pid|seed|old|patch|diff|po|mo|pot|ini|conf|cfg|config"
    r"|lockb|resolved|tfvars|hcl|nix|editorconfig|browserslistrc|npmrc|nvmrc|tool-versions|po|md5|sha256|sig|asc|license)$"
)


_PLAIN_NAMES = re.compile(
    r"(?i)^(?:license|licence|copying|notice|authors|contributors|maintainers|changelog|changes|readme|todo|version|codeowners"
    r"|dockerfile.*|containerfile|procfile|makefile|gnumakefile|rakefile|gemfile|jenkinsfile|vagrantfile|brewfile|justfile"
    r"|caddyfile|earthfile|tiltfile|pipfile|podfile|fastfile|appfile|berksfile|capfile|guardfile|go\.sum|manifest)$"
)


def is_noise(name: str) -> bool:
    """Return whether a file without a known language gives no reason to call a model."""
    return name.startswith(".") or _NOISE.search(name) is not None


def is_plain(name: str) -> bool:
    """Return whether the name occurs in projects of every kind: a readme, a licence, a Dockerfile."""
    return _PLAIN_NAMES.match(name) is not None
