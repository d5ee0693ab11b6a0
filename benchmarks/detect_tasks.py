"""Projects in languages of which little is known: what a model names by their files is held against the tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class DetectTask:
    language: str
    files: Mapping[str, str]  #: by path
    proof: str  #: the file that the model cites
    build_system: str | None = None
    mode: str = "llm_only"  #: ``full`` asks only where something like a manifest has no rule

    @property
    def reply(self) -> str:
        """The model's answer."""
        kinds = {"language": self.language, **({"build_system": self.build_system} if self.build_system else {})}
        facts = [
            {"root": "", "kind": kind, "name": name, "confidence": 0.9, "evidence": [{"file": self.proof, "line": 1}]}
            for kind, name in kinds.items()
        ]
        return json.dumps({"identifications": facts})


TASKS = (
    DetectTask("hare", {"main.ha": "use fmt;\n\nexport fn main() void = {\n\tfmt::println(\"hi\")!;\n};\n"}, "main.ha"),
    DetectTask("janet", {"init.janet": "(print \"hi\")\n", "project.janet": "(declare-project :name \"hi\")\n"},
               "project.janet", "jpm"),
    DetectTask("koka", {"main.kk": "fun main() : console ()\n  println(\"hi\")\n"}, "main.kk"),
    DetectTask("roc", {"main.roc": "app [main!] { pf: platform \"basic-cli\" }\n"}, "main.roc"),
    DetectTask("grain", {"hello.gr": "module Main\n\nprint(\"hi\")\n"}, "hello.gr"),
    DetectTask("unison", {"hello.u": "helloWorld : '{IO} ()\nhelloWorld _ = printLine \"hi\"\n"}, "hello.u"),
    DetectTask("pony", {"main.pony": "actor Main\n  new create(env: Env) =>\n    env.out.print(\"hi\")\n",
                        "corral.json": "{\"deps\": []}\n"}, "corral.json", "corral"),
    DetectTask("wren", {"main.wren": "System.print(\"hi\")\n"}, "main.wren"),
    DetectTask("factor", {"hello.factor": "USE: io\nIN: hello\n\"hi\" print\n"}, "hello.factor"),
    DetectTask("io", {"hello.io": "\"hi\" println\n"}, "hello.io"),
    DetectTask("lobster", {"main.lobster": "print \"hi\"\n"}, "main.lobster"),
    DetectTask("blorb", {"blorb.build": "target main\n", "a.blorb": "say hi\n"}, "blorb.build", "blorb-make", "full"),
    DetectTask("quux", {"quux.package": "name hi\n", "src.quux": "say hi\n"}, "quux.package", "quuxpkg", "full"),
    DetectTask("zork", {"recipe.zork": "needs lamp\n", "cave.zork": "look\n"}, "recipe.zork", "zorkbake", "full"),
)  # fmt: skip
