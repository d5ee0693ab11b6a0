"""Files of a source that hold credentials, by their names and by what their beginnings say; values are never shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.stacks.scan.model import Scan
from services.stacks.tree import join
from shared.contracts.detect import StackFinding

#: How much of a file is read to decide whether it holds a secret.
SECRET_BYTES = 64 << 10
#: More of them are one mistake, and are not listed one by one.
MAX_SECRET_FILES = 200

_BY_NAME = {
    "id_rsa": "a private SSH key", "id_dsa": "a private SSH key", "id_ecdsa": "a private SSH key",
    "id_ed25519": "a private SSH key", ".pgpass": "passwords of PostgreSQL", ".netrc": "passwords of hosts",
    "_netrc": "passwords of hosts", ".git-credentials": "passwords of git hosts",
    "terraform.tfstate": "a Terraform state, which keeps secrets in plain text",
    "terraform.tfstate.backup": "a Terraform state, which keeps secrets in plain text",
}  # fmt: skip
_BY_ENDING = {
    ".p12": "a key store", ".pfx": "a key store", ".jks": "a key store", ".keystore": "a key store",
    ".kdbx": "a password database", ".ppk": "a private SSH key",
}  # fmt: skip
_ENDINGS = tuple(_BY_ENDING)
_KEYS = (".pem", ".key")
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z]{1,20} ){0,3}PRIVATE KEY-----")
_SETTINGS = frozenset((".npmrc", ".pypirc", ".yarnrc.yml", "credentials"))
_TOKEN = re.compile(
    r"(?im)^[ \t]{0,40}\S{0,200}?(?P<name>_authToken|_auth|_password|npmAuthToken|password|aws_secret_access_key)"
    r"[ \t]{0,10}[:=][ \t]{0,10}"
    r"[\"']?(?P<value>[^\s\"'#]{4,})"
)
_CLOUD_KEY = re.compile(r'"private_key"\s*:\s*"-----BEGIN')
#: Files to be copied: their values are placeholders.
_EXAMPLES = ("example", "sample", "template", "dist", "defaults", "schema", "test", "testing", "ci")
_ASSIGNED = re.compile(
    r"(?im)^[ \t]*(?:export[ \t]+)?(?P<name>\w{0,80}(?:SECRET|TOKEN|PASSWORD|PASSWD|API_?KEY|PRIVATE_KEY|ACCESS_KEY"
    r"|CREDENTIALS?)\w{0,80})[ \t]*=[ \t]*[\"']?(?P<value>[^\s\"'#]{4,})"
)
_URL = re.compile(
    r"(?im)^[ \t]*(?:export[ \t]+)?(?P<name>\w{1,80})[ \t]*=[^\n#]{0,40}?://[^:/@\s]{1,80}:(?P<value>[^@/\s]{4,})@"
)
_PLACEHOLDER = re.compile(
    r"(?i)^(?:\$|<|\{\{|x{4,}|\*{3,}|your|change|replace|todo|none|null|false|true|placeholder|dummy|example)"
)


#: All name conditions as one pattern: does any name of a list match one of them?
_ANY_NAME = re.compile(
    rf"(?m)^(?:{'|'.join(map(re.escape, (*_BY_NAME, *_SETTINGS)))})$"
    rf"|(?:{'|'.join(map(re.escape, (*_ENDINGS, *_KEYS)))})$|^\.env(?:\.|$)"
    r"|(?:service[-_]account|credentials)[^\n]*\.json$"
)


def may_hold_secret(name: str) -> bool:
    """Return whether the content of a file with that name decides."""
    return name in _SETTINGS or name.endswith(_KEYS) or _cloud_account(name) or _is_dotenv(name)


def secret_files(scan: Scan) -> Iterator[StackFinding]:
    """Outside tests and the code of others, and only what the source's own ignore files leave in."""
    listed = 0
    for path in sorted(scan.folders):
        folder = scan.folders[path]
        if folder.test or folder.fixture or not _ANY_NAME.search("\n".join(folder.files)):
            continue
        for name in sorted(folder.files):
            whole = join(path, name)
            if whole in scan.skipped or (what := _secret(scan, whole, name)) is None:
                continue
            message, line = what
            listed += 1
            if listed > MAX_SECRET_FILES:
                return
            yield StackFinding(rule="secret-file", message=message, file=whole, line=line)


def _secret(scan: Scan, path: str, name: str) -> tuple[str, int | None] | None:
    by_name = _BY_NAME.get(name) or (_BY_ENDING[name[name.rfind(".") :]] if name.endswith(_ENDINGS) else None)
    if by_name is not None:
        return f"{path} is {by_name}", None
    if not may_hold_secret(name):
        return None
    text = scan.tree.text(path, SECRET_BYTES) or ""
    if name.endswith(_KEYS):
        match = _PRIVATE_KEY.search(text)
        return (f"{path} holds a private key", _line(text, match)) if match else None
    if _cloud_account(name):
        match = _CLOUD_KEY.search(text)
        return (f"{path} holds the private key of a cloud account", _line(text, match)) if match else None
    patterns = (_ASSIGNED, _URL) if _is_dotenv(name) else (_TOKEN,)
    for pattern in patterns:
        for match in pattern.finditer(text):
            if not _PLACEHOLDER.match(match["value"]):
                return f"{path} sets {match['name']}", _line(text, match)
    return None


def _line(text: str, match: re.Match[str]) -> int:
    start = match.start("name") if "name" in match.re.groupindex else match.start()
    return text.count("\n", 0, start) + 1


def _is_dotenv(name: str) -> bool:
    if not name.startswith(".env") or (name != ".env" and name[4] != "."):
        return False
    return name.rpartition(".")[2].lower() not in _EXAMPLES


def _cloud_account(name: str) -> bool:
    return name.endswith(".json") and ("service-account" in name or "service_account" in name or "credentials" in name)
