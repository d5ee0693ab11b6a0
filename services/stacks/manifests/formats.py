"""JSON, JSON with comments, TOML, YAML and XML, read under limits; a fault is reported with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

import orjson

from services.stacks.manifests.model import Json
from shared import plain_yaml

_YAML_BYTES = 512 << 10
_MAX_VALUES = 100_000  #: of one document, with its aliases expanded
_TOML_BYTES = 1 << 20
#: In one line: the time to read a key grows with the square of its parts.
_MAX_DOTS = 5000
_AT_LINE = re.compile(r"line (\d+)")
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.S)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])', re.S)


class Broken(Exception):
    """The text is not what its name promises; ``line`` counts from 1."""

    def __init__(self, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.line = line
        self.reason = reason


def read_json(text: str) -> Json:
    """Parse a JSON object. Raises: Broken."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Broken(error.lineno, f"not valid JSON ({error.msg})") from None
    if not isinstance(value, dict):
        raise Broken(1, "not a JSON object")
    return value


def read_jsonc(text: str) -> Json:
    """JSON that may hold comments and trailing commas. Raises: Broken."""
    try:
        return read_json(text)
    except Broken:
        return read_json(without_comments(text))


def without_comments(text: str) -> str:
    """JSON with comments and trailing commas as JSON; line numbers stay."""
    plain = _COMMENT.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
    return _TRAILING_COMMA.sub(lambda match: match[1] or "", plain)


def read_toml(text: str) -> Json:
    """Parse TOML. Raises: Broken."""
    if len(text) > _TOML_BYTES:
        raise Broken(None, "larger than Assay reads")
    dotted = next((at for at, line in enumerate(text.split("\n"), 1) if line.count(".") > _MAX_DOTS), None)
    if dotted is not None:
        raise Broken(dotted, "not valid TOML (a key with too many parts)")
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        match = _AT_LINE.search(str(error))
        reason = str(error).partition(" (at ")[0] if match else "nested too deeply"
        raise Broken(int(match[1]) if match else None, f"not valid TOML ({reason})") from None


def read_yaml(text: str) -> Json:
    """Parse the first document. Raises: Broken."""
    value = next(iter(read_documents(text)), None)
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else {}


def read_documents(text: str) -> Iterator[object]:
    """Yield every document of a YAML file. Raises: Broken."""
    if len(text) > _YAML_BYTES:
        raise Broken(None, "larger than Assay reads")
    try:
        yield from plain_yaml.documents(text, most=_MAX_VALUES, aliases=True)
    except plain_yaml.NotPlain as error:
        raise Broken(error.line, f"not valid YAML ({error.reason})") from None


#: Of an element's own text, which holds names, versions and paths.
_LONGEST_TEXT = 10_000


@dataclass(slots=True)
class Element:
    """An XML element without its namespace."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def first(self, *path: str) -> Element | None:
        here: Element | None = self
        for tag in path:
            here = next((child for child in here.children if child.tag == tag), None) if here else None
        return here

    def value(self, *path: str) -> str | None:
        element = self.first(*path)
        return element.text.strip() or None if element else None


def read_xml(text: str) -> Element:
    """Parse XML; a document that declares entities is refused. Raises: Broken."""
    top = Element("", {}, 0)
    open_elements = [top]
    parser = expat.ParserCreate(namespace_separator=None)
    parser.buffer_text = True

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > 200:
            raise Broken(parser.CurrentLineNumber, "XML nested too deeply")
        element = Element(tag.rpartition(":")[2], attributes, parser.CurrentLineNumber)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_tag: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        here = open_elements[-1]
        if len(here.text) < _LONGEST_TEXT:
            here.text += data

    def entity(*_: object) -> None:
        raise Broken(parser.CurrentLineNumber, "XML that declares entities is not read")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = characters, entity
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]*\?>", lambda match: "\n" * match[0].count("\n"), text), True)
    except expat.ExpatError as error:
        raise Broken(error.lineno, f"not valid XML ({expat.errors.messages[error.code]})") from None
    finally:  # the parser knows the handlers, and they know the parser: it would wait for the collector
        parser.StartElementHandler = parser.EndElementHandler = None
        parser.CharacterDataHandler = parser.EntityDeclHandler = None
    return top.children[0]


_CODE_COMMENT = re.compile(
    r"(\"\"\".*?\"\"\"|'''.*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?\*/", re.S
)
_HASH_COMMENT = re.compile(r"(\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|#[^\n]*")


def blank_comments(text: str, hashes: bool = False) -> str:
    """Code with its comments turned into blanks, so that every offset still counts."""

    def blank(match: re.Match[str]) -> str:
        return match[1] or re.sub(r"[^\n]", " ", match[0])

    return (_HASH_COMMENT if hashes else _CODE_COMMENT).sub(blank, text)
