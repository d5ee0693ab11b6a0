"""Trees with nothing to find, and nothing more to say than there is."""

from __future__ import annotations

from tests.services.stacks.projects.case import Case

EMPTY = [
    Case("an empty tree", {}, paths=()),
    Case("documentation only", {"README.md": "# hi\n", "docs/a.md": "x\n", "LICENSE": "MIT\n"}, paths=()),
    Case(
        "a container of shell scripts is no service",
        {"Dockerfile": "FROM alpine\n", "run.sh": "#!/bin/sh\necho\n"},
        paths=(),
    ),
    Case("sources without a manifest", {"main.py": "print(1)\n", "lib/a.js": "1\n"}, paths=()),
    Case("nothing but pages", {"index.html": "<!doctype html>\n", "style.css": "a {}\n"}, paths=()),
    Case("a lone C file", {"main.c": "int main() {}\n"}, paths=()),
    Case("shell scripts", {"run.sh": "#!/bin/sh\necho 1\n"}, paths=()),
    Case("a Dockerfile alone", {"Dockerfile": "FROM alpine\n"}, paths=()),
    Case("only lockfiles", {"yarn.lock": "", "poetry.lock": ""}, paths=()),
    Case("data only", {"data.csv": "a,b\n1,2\n", "x.json": "{}"}, paths=()),
    Case("configuration only", {".eslintrc.json": "{}", ".prettierrc": "{}", "tsconfig.json": "{}"}, paths=()),
]
