"""SARIF 2.1.0: the findings of a detection, as code scanning services read them.

The form: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import JsonValue

from shared.contracts.detect import FINDING_RULES, DetectResult, FindingRule, StackFinding

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


@dataclass(frozen=True)
class _Rule:
    level: str
    name: str
    short: str
    help: str


_RULES: dict[FindingRule, _Rule] = {
    "eol": _Rule(
        "warning", "OutOfSupport", "A version or a technology that is no longer maintained.",
        "It gets no more security fixes. Move to a release line in support, or to the named successor.",
    ),
    "conflict": _Rule(
        "warning", "ContradictingStatements", "Statements about the stack that do not go together.",
        "Tools will pick different ones. Keep one lock file, and one version that lies in every stated range.",
    ),
    "unpinned": _Rule(
        "note", "UnpinnedDependency", "Another build may resolve other versions.",
        "Commit the lock file, write exact versions (==), and give base images a tag or a digest.",
    ),
    "secret-file": _Rule(
        "error", "SecretFile", "A file of the source holds credentials.",
        "Revoke the credential, remove the file from the history, and read it from the environment.",
    ),
}  # fmt: skip


def sarif(result: DetectResult, version: str) -> JsonValue:
    """Return one run; the same tree gives the same document."""
    names = FINDING_RULES
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Assay detect",
                        "semanticVersion": version,
                        "rules": [_described(name, _RULES[name]) for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, names.index(finding.rule)) for finding in result.findings],
            }
        ],
    }


def _described(name: str, rule: _Rule) -> JsonValue:
    return {
        "id": name,
        "name": rule.name,
        "shortDescription": {"text": rule.short},
        "fullDescription": {"text": rule.short},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.level},
    }


def _result(finding: StackFinding, index: int) -> JsonValue:
    result: dict[str, JsonValue] = {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _RULES[finding.rule].level,
        "message": {"text": finding.message},
        "partialFingerprints": {"assayFinding/v1": _fingerprint(finding)},
    }
    place = finding.file
    if place is not None:
        physical: dict[str, JsonValue] = {"artifactLocation": {"uri": quote(place), "uriBaseId": "%SRCROOT%"}}
        if finding.line:
            physical["region"] = {"startLine": finding.line}
        result["locations"] = [{"physicalLocation": physical}]
    elif finding.service is not None:
        result["locations"] = [{"logicalLocations": [{"fullyQualifiedName": finding.service or ".", "kind": "module"}]}]
    return result


def _fingerprint(finding: StackFinding) -> str:
    """Return the fingerprint, which is the same for the same finding on another line."""
    text = "\0".join((finding.rule, finding.service or "", finding.file or "", finding.message))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
