"""Documents made by chance, and edits of them, in the four languages."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

_SEEDS = {
    "python": "import random\nimport numpy\nrandom.seed(1)\nnumpy.random.seed(1)",
    "r": "set.seed(1)",
}

#: What a chunk may do: ``{n}`` is a number, ``{new}`` a name that it makes, ``{list}`` a name of that kind.
_STATEMENTS: dict[str, dict[str, list[str]]] = {
    "python": {
        "list": ["{new} = [{n}, {n}]", "{new} = {list}", "{new} = list({list})", "{new} = sorted({list})"],
        "number": ["{new} = {n}", "{new} = len({list}) + {n}", "{new} = {function}({n})", "{new} = {object}.v + {n}"],
        "function": [
            "def {new}(x):\n    return x + {number}",
            "{new} = lambda x: x * {number} + {n}",
            "def {new}(x, held=[]):\n    held.append(x)\n    return len(held) + {n}",
        ],
        "object": ["class {new}_kind:\n    v = {n}\n{new} = {new}_kind()", "{new} = {object}"],
        "iterator": ["{new} = iter([1, 2, 3, 4, 5, {n}])", "{new} = (i + {n} for i in range(9))"],
        "array": ["import numpy as np\n{new} = np.arange(4) + {n}", "{new} = {array}[:2]"],
        "frame": ["import pandas as pd\n{new} = pd.DataFrame({{'a': [1, {n}]}})", "{new} = {frame}"],
        "": [
            "{list}.append({n})", "{number} += {n}", "{object}.v = {n}", "type({object}).v = {n}", "next({iterator})",
            "{array}[0] = {n}", "{frame}.loc[0, 'a'] = {n}", "{frame}['b'] = {n}", "for {number} in range({n}): pass",
            "import random\nrandom.seed({n})", "import random\n{number} = random.random()",
            "import numpy as np\nnp.random.seed({n})", "import numpy as np\n{number} = np.random.rand()",
            "import decimal\ndecimal.getcontext().prec = {n} + 2",
            "import decimal\nprint(1 / decimal.Decimal({n} + 2))",
            "open('f.txt', 'w').write('{n}')", "print(open('f.txt').read())", "exec('{number} = {n}')",
            "globals()['{number}'] = {n}", "setattr({object}, 'w', {n})", "print(vars({object}))",
            "import os\nos.environ['M'] = '{n}'", "import os\nprint(os.environ.get('M'))",
        ],
        "show": [
            "print({list})", "print({number})", "print({function}({n}))", "print({object}.v)",
            "print(next({iterator}))",
            "print({array})", "print({frame}.sum().to_dict())", "{list}", "sum({list}) + 1",
        ],
    },
    "javascript": {
        "list": [
            "var {new} = [{n}, {n}]", "var {new} = {list}", "var {new} = [...{list}]",
            "let [{new}_a, ...{new}] = {list}",
        ],
        "number": ["var {new} = {n}", "var {new} = {list}.length + {n}", "var {new} = {function}({n})"],
        "function": [
            "function {new}(x) {{ return x + {number} }}",
            "var {new} = (() => {{ let held = {n}; return (x) => held += x }})()",
        ],
        "object": [
            "var {new} = {{ v: {n} }}", "var {new} = {object}",
            "class {new}_kind {{ v = {n} }}\nvar {new} = new {new}_kind()",
        ],
        "map": ["var {new} = new Map([[1, {list}]])", "var {new} = new Set([{n}])"],
        "": [
            "{list}.push({n})", "{number} += {n}", "{object}.v = {n}", "globalThis['{number}'] = {n}",
            "Array.prototype.extra = {n}", "process.env.M = '{n}'", "Object.assign({object}, {{ w: {n} }})",
            "require('fs').writeFileSync('f.txt', '{n}')", "{function}({n})",
        ],
        "show": [
            "{list}.join()", "{number}", "{function}({n})", "JSON.stringify({object})", "[].extra", "process.env.M",
            "[...{map}].length", "console.log({list}, {object})",
        ],
    },
    "r": {
        "list": ["{new} <- c({n}, {n})", "{new} <- {list}", "{new} <- {list} + {n}"],
        "number": ["{new} <- {n}", "{new} <- length({list}) + {n}", "{new} <- {function}({n})"],
        "function": [
            "{new} <- function(x) x + {number}",
            "{new} <- local({{ held <- {n}; function(x) {{ held <<- held + x; held }} }})",
        ],
        "environment": ["{new} <- new.env(); {new}$v <- {n}", "{new} <- {environment}"],
        "frame": ["{new} <- data.frame(a = c(1, {n}))", "{new} <- {frame}"],
        "": [
            "{list}[1] <- {n}", "{environment}$v <- {n}", "assign('{number}', {n})", "set.seed({n})",
            "{number} <- runif(1)", "options(digits = {n} + 3)", "{frame}$b <- {n}", "writeLines('{n}', 'f.txt')",
            "invisible({function}({n}))",
        ],
        "show": [
            "print({list})", "print({number})", "print({function}({n}))", "print({environment}$v)",
            "print(pi * {number})", "print({frame})", "print(readLines('f.txt'))",
        ],
    },
    "sql": {
        "table": [
            "CREATE OR REPLACE TABLE {new} AS SELECT {n} AS a",
            "CREATE OR REPLACE TABLE {new} AS SELECT a + {n} AS a FROM {table}",
            "CREATE OR REPLACE VIEW {new}_v AS SELECT a + {n} AS a FROM {table};"
            " CREATE OR REPLACE TABLE {new} AS SELECT * FROM {new}_v",
        ],
        "macro": ["CREATE OR REPLACE MACRO {new}(x) AS x + {n}"],
        "sequence": ["CREATE OR REPLACE SEQUENCE {new} START {n}"],
        "variable": ["SET VARIABLE {new} = {n}"],
        "": [
            "INSERT INTO {table} VALUES ({n})", "UPDATE {table} SET a = a + {n}", "DELETE FROM {table} WHERE a > {n}",
            "INSERT INTO {table} SELECT nextval('{sequence}')", "ALTER TABLE {table} RENAME TO {table}",
        ],
        "show": [
            "SELECT * FROM {table}", "SELECT {macro}({n}) AS v", "SELECT nextval('{sequence}') AS v",
            "SELECT getvariable('{variable}') + {n} AS v", "SELECT sum(a) AS s FROM \"{table}\"",
        ],
    },
}  # fmt: skip
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass
class RandomDocument:
    """Chunks of one language, which only use names of chunks above them until they are edited."""

    language: str
    dice: random.Random
    chunks: list[str] = field(default_factory=list)
    _names: dict[str, list[str]] = field(default_factory=dict)

    def grow(self, count: int) -> None:
        while len(self.chunks) < count:
            self.chunks.append(self._chunk())

    def _chunk(self) -> str:
        kinds = _STATEMENTS[self.language]
        while True:
            kind = self.dice.choice([*kinds, "", "show", "show"])
            text = self.dice.choice(kinds[kind])
            wanted = set(_PLACE.findall(text.replace("{{", "").replace("}}", ""))) - {"n", "new"}
            if all(self._names.get(each) for each in wanted):
                break
        new = f"{kind[:1]}{len(self.chunks)}x"
        names = {each: self.dice.choice(self._names[each]) for each in sorted(wanted)}
        if "{new}" in text:
            if kind in ("list", "number", "table") and self._names.get(kind) and self.dice.random() < 0.2:
                new = self.dice.choice(self._names[kind])
            self._names.setdefault(kind, []).append(new)
        numbers = iter(self.dice.choices(range(1, 7), k=9))
        filled = re.sub(r"\{n\}", lambda _: str(next(numbers)), text)
        return filled.format(new=new, **names)

    def edit(self) -> None:
        """Change a number, or put in, take out, replace or move a chunk."""
        at = self.dice.randrange(len(self.chunks))
        action = self.dice.choice(["number", "number", "number", "replace", "insert", "remove", "move", "twice"])
        numbers = list(re.finditer(r"(?<![\w.])\d+", self.chunks[at]))
        if action == "number" and numbers:
            place = self.dice.choice(numbers)
            text = self.chunks[at]
            self.chunks[at] = text[: place.start()] + str(self.dice.randrange(1, 9)) + text[place.end() :]
        elif action == "insert":
            self.chunks.insert(at, self._chunk())
        elif action == "remove" and len(self.chunks) > 3:
            del self.chunks[at]
        elif action == "move":
            self.chunks.insert(self.dice.randrange(len(self.chunks)), self.chunks.pop(at))
        elif action == "twice":
            self.chunks.insert(at, self.chunks[at])
        else:
            self.chunks[at] = self._chunk()

    @property
    def markdown(self) -> str:
        seeded = [seed] if (seed := _SEEDS.get(self.language)) else []
        return "".join(f"```{self.language} exec\n{chunk}\n```\n\n" for chunk in [*seeded, *self.chunks])
