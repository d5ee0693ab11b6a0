"""Bills of materials with the packages of lock files, and the findings as SARIF."""

from __future__ import annotations

import json
import re
from typing import Any

from jsonschema import Draft7Validator

from services.stacks.outputs.cyclonedx import cyclonedx
from services.stacks.outputs.sarif import sarif
from services.stacks.outputs.spdx import spdx
from tests.services.stacks.outputs.test_outputs import MEASURED, validator
from tests.services.stacks.trees import Files, detected, engine

FILES = {
    "web/package.json": {"name": "web", "scripts": {"start": "node ."}, "dependencies": {"express": "4"}},
    "web/index.js": "1\n",
    "web/.nvmrc": "20\n",
    "web/package-lock.json": {"packages": {"node_modules/@x/y": {"version": "1.0.0"}, "node_modules/z": {"version": "2.0.0"}}},
    "api/Cargo.toml": '[package]\nname = "api"\n[dependencies]\naxum = "0.7"\n',
    "api/src/main.rs": "fn main() {}\n",
    "my file.pem": "-----BEGIN PRIVATE " + "KEY-----\n",
}  # fmt: skip


def test_cyclonedx_lists_what_lock_files_pin_and_whose_it_is() -> None:
    document: Any = cyclonedx(detected(FILES), engine().rules, "1.0.0")
    assert [error.message for error in validator().iter_errors(json.loads(json.dumps(document)))] == []
    locked = {one["purl"]: one for one in document["components"] if "purl" in one}
    assert list(locked) == ["pkg:npm/%40x/y@1.0.0", "pkg:npm/z@2.0.0"]
    assert (locked["pkg:npm/%40x/y@1.0.0"]["group"], locked["pkg:npm/%40x/y@1.0.0"]["name"]) == ("@x", "y")
    needed = {one["ref"]: one["dependsOn"] for one in document["dependencies"]}
    assert set(locked) <= set(needed["service:web"])
    assert not set(locked) & set(needed["service:api"])


def test_a_bill_says_whether_it_is_complete_and_what_it_leaves_out() -> None:
    whole: Any = cyclonedx(detected(FILES), engine().rules, "1.0.0")
    assert whole["compositions"] == [{"aggregate": "complete"}]
    assert "comment" not in spdx(detected(FILES), "1.0.0")  # type: ignore[operator]
    lock = "lockfileVersion: '9.0'\n\npackages:\n\n  own@git+https://host/own.git#abc:\n    resolution: {}\n"
    partial = detected({**FILES, "app/pnpm-lock.yaml": lock})
    document: Any = cyclonedx(partial, engine().rules, "1.0.0")
    assert [error.message for error in validator().iter_errors(json.loads(json.dumps(document)))] == []
    assert document["compositions"] == [{"aggregate": "incomplete"}]
    comment: Any = spdx(partial, "1.0.0")
    assert comment["comment"] == "Not complete. app/pnpm-lock.yaml: own (git)"


def test_spdx_names_every_package_once_and_refers_only_to_those() -> None:
    for files in (FILES, {}, *MEASURED[::40]):
        document: Any = spdx(detected(files), "1.0.0")
        ids = [package["SPDXID"] for package in document["packages"]]
        assert len(ids) == len(set(ids))
        assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", id) for id in ids)
        for relation in document["relationships"]:
            assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= {"SPDXRef-DOCUMENT", "NONE", *ids}
        for package in document["packages"]:
            assert {"name", "downloadLocation", "licenseConcluded", "copyrightText"} <= package.keys()
    document = spdx(detected(FILES), "1.0.0")
    assert document["spdxVersion"] == "SPDX-2.3"
    assert [one["externalRefs"][0]["referenceLocator"] for one in document["packages"] if "externalRefs" in one] == [
        "pkg:npm/%40x/y@1.0.0",
        "pkg:npm/z@2.0.0",
    ]
    assert spdx(detected(FILES), "1.0.0")["documentNamespace"] == document["documentNamespace"]  # type: ignore[call-overload, index]


#: What version 2.3 of the SPDX specification requires of a document in JSON, and the fields of it that Assay writes.
_ID = {"type": "string", "pattern": r"^SPDXRef-[A-Za-z0-9.-]+$"}
_LICENSE = {"enum": ["NOASSERTION", "NONE"]}
_EXTERNAL = {
    "required": ["referenceCategory", "referenceType", "referenceLocator"], "additionalProperties": False,
    "properties": {
        "referenceCategory": {"const": "PACKAGE-MANAGER"},
        "referenceType": {"enum": ["maven-central", "npm", "nuget", "bower", "purl"]},
        "referenceLocator": {"type": "string", "pattern": r"^pkg:[a-z][a-z0-9.+-]*/[^\s#?]+@[^\s#?]+"},
    },
}  # fmt: skip
_PACKAGE = {
    "required": ["SPDXID", "name", "downloadLocation"], "additionalProperties": False,
    "properties": {
        "SPDXID": _ID, "name": {"type": "string", "minLength": 1}, "versionInfo": {"type": "string", "minLength": 1},
        "downloadLocation": {"enum": ["NOASSERTION", "NONE"]}, "filesAnalyzed": {"const": False},
        "licenseConcluded": _LICENSE, "licenseDeclared": _LICENSE, "copyrightText": {"type": "string", "minLength": 1},
        "primaryPackagePurpose": {"enum": ["APPLICATION", "FRAMEWORK", "LIBRARY", "CONTAINER", "SOURCE", "OTHER"]},
        "sourceInfo": {"type": "string", "minLength": 1}, "externalRefs": {"type": "array", "items": _EXTERNAL},
    },
}  # fmt: skip
_RELATIONSHIP = {
    "required": ["spdxElementId", "relationshipType", "relatedSpdxElement"], "additionalProperties": False,
    "properties": {
        "spdxElementId": _ID, "relationshipType": {"enum": ["DESCRIBES", "DEPENDS_ON"]},
        "relatedSpdxElement": {"anyOf": [_ID, {"enum": ["NONE", "NOASSERTION"]}]},
    },
}  # fmt: skip
_DOCUMENT = {
    "type": "object", "additionalProperties": False,
    "required": ["spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"],
    "properties": {
        "spdxVersion": {"const": "SPDX-2.3"}, "dataLicense": {"const": "CC0-1.0"}, "SPDXID": {"const": "SPDXRef-DOCUMENT"},
        "name": {"type": "string", "minLength": 1}, "comment": {"type": "string", "minLength": 1},
        "documentNamespace": {"type": "string", "pattern": r"^https://[^\s#]+$"},
        "creationInfo": {
            "required": ["created", "creators"], "additionalProperties": False,
            "properties": {
                "created": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
                "creators": {"type": "array", "minItems": 1, "items": {"pattern": "^(?:Person|Organization|Tool): ."}},
            },
        },
        "packages": {"type": "array", "items": _PACKAGE},
        "relationships": {
            "type": "array", "items": _RELATIONSHIP,
            "contains": {"properties": {"spdxElementId": {"const": "SPDXRef-DOCUMENT"}, "relationshipType": {"const": "DESCRIBES"}}},
        },
    },
}  # fmt: skip
_LOCKED_ALONE: dict[str, object] = {"package-lock.json": {"packages": {"node_modules/z": {"version": "2.0.0"}}}}
_NO_REGISTRY: dict[str, object] = {
    **FILES,
    "app/pnpm-lock.yaml": "packages:\n\n  own@git+https://host/own.git#abc:\n    resolution: {}\n",
}


def test_spdx_has_what_the_specification_requires() -> None:
    schema = Draft7Validator(_DOCUMENT)
    sources: list[Files] = [{}, FILES, _LOCKED_ALONE, _NO_REGISTRY, *MEASURED[::20]]
    for files in sources:
        document = json.loads(json.dumps(spdx(detected(files), "1.0.0")))
        assert [error.message for error in schema.iter_errors(document)] == []


def test_sarif_has_a_rule_with_help_for_every_finding() -> None:
    document: Any = sarif(detected(FILES), "1.0.0")
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["eol", "conflict", "unpinned", "secret-file"]
    assert all(rule["help"]["text"] and rule["shortDescription"]["text"] for rule in rules)
    told = {}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        physical = result["locations"][0]["physicalLocation"]
        told[result["ruleId"]] = (result["level"], physical["artifactLocation"]["uri"], physical.get("region"))
    assert told == {
        "eol": ("warning", "web/.nvmrc", {"startLine": 1}),
        "unpinned": ("note", "api/Cargo.toml", None),
        "secret-file": ("error", "my%20file.pem", {"startLine": 1}),
    }
