"""The scan phase: every folder once, every name looked up once; languages, manifests, and what does not count."""

from __future__ import annotations

from dataclasses import dataclass

from services.stacks.linguist.excluded import Excluded, generated
from services.stacks.linguist.tables import Tables
from services.stacks.manifests.kinds import REQUIREMENT_FOLDERS, REQUIREMENTS_KIND, ManifestKind, kind_of, parse
from services.stacks.scan.filenames import Meaning, Names, is_source
from services.stacks.scan.folder_roles import TELLING, filled_by_a_tool, hoist, place
from services.stacks.scan.ignore import Attributes, attributes, ignored
from services.stacks.scan.markers import OPENING_LETTERS, is_marker
from services.stacks.scan.model import Scan, ScannedFolder, Sources
from services.stacks.tree import HEAD_BYTES, UNASKED, Tree, join, within

#: Up to this many code files, the beginning of each is read: for generated code, shared extensions, ports and names.
SMALL_TREE = 500
#: In a larger tree, this many files with an extension that several languages share are still read.
MAX_AMBIGUOUS = 2000
#: Maximum number of a source's manifests that are read, in the order of their paths.
MAX_MANIFESTS = 50_000
#: A file that may be code: its name, and the meaning of the name.
_Entry = tuple[str, Meaning]


class Scanner:
    """Scans trees with one set of language tables."""

    def __init__(self, tables: Tables, most_manifests: int = MAX_MANIFESTS) -> None:
        self.tables = tables
        self.most_manifests = most_manifests
        self.names = Names(tables)
        self.excluded = Excluded(tables)

    def scan(self, tree: Tree, root: str = "") -> Scan:
        scan = Scan(tree, root, warnings=list(tree.warnings))
        skipped_folders, skipped_files = ignored(tree)
        scan.skipped = skipped_files
        settings = attributes(tree)
        code: list[tuple[ScannedFolder, list[_Entry]]] = []
        fixtures: list[str] = []
        left_out: set[str] = set()
        every = bool(settings.rules)
        for path in sorted(tree.folders):
            folder = tree.folders[path]
            outer_path, _, name = path.rpartition("/")
            if path and (
                outer_path in left_out
                or path in skipped_folders
                or (name in TELLING and filled_by_a_tool(tree, path, outer_path))
                or "pyvenv.cfg" in folder.files
            ):
                left_out.add(path)
                continue
            scanned = ScannedFolder(path, folder.files, folder.folders)
            if not within(path, root):
                if within(root, path):
                    scan.outside[path] = scanned
                    self._manifests(scan, scanned, self._sorted(scanned, every)[0], skipped_files)
                continue
            outer = scan.folders.get(outer_path) if path else None
            if outer is not None:
                scanned.aside, scanned.fixture, scanned.test = outer.aside, outer.fixture, outer.test
            if path and not scanned.aside:
                scanned.aside = self.excluded.folder(path)
            if path != root and name in TELLING:
                place(scanned, name)
            scan.folders[path] = scanned
            scan.files += len(folder.files)
            manifests, entries = self._sorted(scanned, every)
            if manifests and scanned.fixture:
                fixtures.append(path)
            elif manifests:
                self._manifests(scan, scanned, manifests, skipped_files)
                hoist(scan, scanned)
            if entries:
                code.append((scanned, entries))
        self._languages(scan, code, settings, skipped_files)
        if scan.manifests > self.most_manifests:
            unread = scan.manifests - self.most_manifests
            scan.warnings.append(f"the source holds {scan.manifests:,} manifests: the last {unread:,} were not read")
        if fixtures:
            shown = ", ".join(fixtures[:3]) + (", ..." if len(fixtures) > 3 else "")
            scan.warnings.append(f"test fixtures and third-party code are not services: {shown}")
        return scan

    def _sorted(self, folder: ScannedFolder, every: bool) -> tuple[list[tuple[str, ManifestKind]], list[_Entry]]:
        """Return the manifests of a folder, and the files that may be code; ``every``: attributes may make any file
        code.
        """
        by_name, by_ending, learn = self.names.by_name, self.names.by_ending, self.names.learn
        manifests: list[tuple[str, ManifestKind]] = []
        entries: list[_Entry] = []
        for name in folder.files:
            dot = name.rfind(".")
            ending = name[dot:] if dot >= 0 else ""
            meaning = by_name.get(name) or by_ending.get(ending) or learn(name, ending)
            if meaning.telling:
                if meaning.manifest is not None:
                    manifests.append((name, meaning.manifest))
                if meaning.unknown:
                    folder.unknown.append(name)
            if meaning.marker or (name[0] in OPENING_LETTERS and is_marker(name)):
                folder.markers.append(name)
            if meaning.counts or every:
                entries.append((name, meaning))
        if folder.path.rpartition("/")[2] in REQUIREMENT_FOLDERS:
            listed = (name for name in folder.files if name.endswith((".txt", ".in")) and kind_of(name) is None)
            manifests += [(name, REQUIREMENTS_KIND) for name in listed]
        return manifests, entries

    def _manifests(
        self, scan: Scan, folder: ScannedFolder, manifests: list[tuple[str, ManifestKind]], skipped: set[str]
    ) -> None:
        for name, kind in sorted(manifests, key=lambda named: named[0]):
            path = join(folder.path, name)
            if path in skipped:
                continue
            scan.manifests += 1
            if scan.manifests <= self.most_manifests:
                manifest = parse(scan.tree, path, kind)
                if manifest.kind:  # else its text is not a manifest's after all
                    folder.manifests.append(manifest)

    def _languages(
        self, scan: Scan, code: list[tuple[ScannedFolder, list[_Entry]]], settings: Attributes, skipped: set[str]
    ) -> None:
        """Bytes per language, and whose sources they are."""
        reading = _HeadReader(scan, sum(len(entries) for _, entries in code) <= SMALL_TREE)
        if reading.small:
            scan.tree.reader.prefetch([join(folder.path, name) for folder, entries in code for name, _ in entries])
        counted, total, measured = self.tables.counted, scan.languages, scan.tree.reader.size
        excluded, by_attributes, by_name_only = self.excluded, bool(settings.rules), not reading.small
        named = excluded.by_name
        for folder, entries in code:
            spans, aside, files = excluded.spans(folder.path), folder.aside, folder.files
            prefix = folder.path + "/" if folder.path else ""
            for name, meaning in entries:
                path = prefix + name
                if skipped and path in skipped:
                    continue
                size = files[name]
                if size == UNASKED:
                    size = files[name] = measured(path)
                if not size:
                    continue
                counts, forced = not aside, None
                if counts:
                    left_out = named.get(name)
                    if left_out is None:
                        left_out = excluded.learn(name)
                    counts = not (left_out or (spans and excluded.spanned(path)))
                if by_attributes:
                    counts, forced = _override(counts, settings.of(path, name))
                    if meaning.unknown and not forced:
                        continue
                if by_name_only and meaning.plain and forced is None:
                    language = meaning.likely
                else:
                    language = self._read(reading, path, name, size, meaning, forced)
                if language is None or language not in counted:
                    continue
                if counts:
                    total[language] = total.get(language, 0) + size
                if not meaning.settings or is_source(name):
                    sources = folder.sources.get(language)
                    if sources is None:
                        sources = folder.sources[language] = Sources(first=path)
                    sources.bytes += size
                    sources.files += 1
        scan.languages = self._grouped(total)

    def _grouped(self, total: dict[str, int]) -> dict[str, int]:
        """Under the languages that linguist shows, the largest first."""
        shown: dict[str, int] = {}
        for language, size in total.items():
            group = self.tables.groups[language]
            shown[group] = shown.get(group, 0) + size
        return dict(sorted(shown.items(), key=lambda item: (-item[1], item[0])))

    def _read(
        self, reading: _HeadReader, path: str, name: str, size: int, meaning: Meaning, forced: str | None
    ) -> str | None:
        """Return the language of a file by its first bytes; None when it is generated, or its language is unknown."""
        head: bytes | None = None
        if reading.small or (not meaning.plain and reading.done < MAX_AMBIGUOUS and size < HEAD_BYTES * 16):
            reading.done += 1
            head = reading.scan.tree.reader.read(path, HEAD_BYTES)
        language = self.tables.by_name.get(forced.lower()) if forced else None
        language = language or self._language(name, meaning, head)
        if language is None:
            return None
        if reading.small and head is not None:
            reading.scan.heads[path] = head
        return None if head is not None and generated(head, name) else language

    def _language(self, name: str, meaning: Meaning, head: bytes | None) -> str | None:
        if len(meaning.candidates) == 1:
            return meaning.candidates[0]
        if head is not None and b"\0" in head[:1024]:
            return None
        if not meaning.candidates:
            return self.tables.by_shebang(head[:200].decode("utf-8", "replace")) if head else None
        if head is None:
            return self.tables.likely(meaning.ending, meaning.candidates)
        return self.tables.decide(name, meaning.candidates, head.decode("utf-8", "replace"))


@dataclass(slots=True)
class _HeadReader:
    """How many beginnings of files were read: all of a small tree, else only where the name does not decide."""

    scan: Scan
    small: bool
    done: int = 0


def _override(counts: bool, said: dict[str, str]) -> tuple[bool, str | None]:
    aside = [said[key] for key in ("vendored", "generated", "documentation") if key in said]
    if "true" in aside:
        counts = False
    elif "false" in aside:
        counts = True
    if said.get("detectable") == "false":
        counts = False
    return counts, said.get("language")
