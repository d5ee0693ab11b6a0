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
            "let [{new}_a, ...{new}] = {list}", "var {new} = {list}.map((x) => x + {n})",
        ],
        "number": [
            "var {new} = {n}", "var {new} = {list}.length + {n}", "var {new} = {function}({n})",
            "var {{ v: {new} = {n} }} = {object}",
        ],
        "function": [
            "function {new}(x) {{ return x + {number} }}",
            "var {new} = (() => {{ let held = {n}; return (x) => held += x }})()",
            "function {new}(x, held = {list}) {{ held.push(x); return held.length + {n} }}",
            "var {new} = {function}.bind(null, {n})",
        ],
        "object": [
            "var {new} = {{ v: {n} }}", "var {new} = {object}",
            "class {new}_kind {{ v = {n} }}\nvar {new} = new {new}_kind()",
            "var {new} = Object.create({object}, {{ u: {{ value: {n}, enumerable: true }} }})",
            "var {new} = {{ get v() {{ return {number} + {n} }} }}",
            "class {new}_kind {{ #h = {n}; get v() {{ return this.#h++ }} }}\nvar {new} = new {new}_kind()",
        ],
        "map": ["var {new} = new Map([[1, {list}]])", "var {new} = new Set([{n}])", "var {new} = {map}"],
        "iterator": [
            "var {new} = [1, 2, 3, {n}].values()",
            "var {new} = (function* () {{ yield {n}; yield {number}; yield 9 }})()",
        ],
        "": [
            "{list}.push({n})", "{number} += {n}", "{object}.v = {n}", "globalThis['{number}'] = {n}",
            "Array.prototype.extra = {n}", "process.env.M = '{n}'", "Object.assign({object}, {{ w: {n} }})",
            "require('fs').writeFileSync('f.txt', '{n}')", "{function}({n})", "{iterator}.next()", "{map}.clear()",
            "Object.freeze({object})", "delete {object}.v", "Object.prototype.deep = {n}",
            "{object}.constructor.prototype.w = {n}", "Math.round = () => {n}", "eval('var {number} = {n}')",
            "({{ v: {number} }} = {object})", "[{number}] = {list}", "require('path').mine = {n}",
            "void setTimeout(() => {{ {number} += {n} }}, 0)",
            "await Promise.resolve().then(() => {{ {number} += {n} }})",
            "for (var {number} = 0; {number} < {n}; {number}++);", "new Function('{number} = {n}')()",
            "JSON.parse('[{n}]', function (key, value) {{ {number} = value; return value }})",
        ],
        "show": [
            "{list}.join()", "{number}", "{function}({n})", "JSON.stringify({object})", "[].extra", "process.env.M",
            "[...{map}].length", "console.log({list}, {object})", "console.log({iterator}.next().value)", "{object}.w",
            "Math.round(2.5)", "({{}}).deep", "require('fs').readFileSync('f.txt', 'utf8')", "require('path').mine",
            "Object.isFrozen({object})", "`${{{number}}}`", "globalThis[['{number}'].join()]", "missing{n}",
        ],
    },
    "r": {
        "list": [
            "{new} <- c({n}, {n})", "{new} <- {list}", "{new} <- {list} + {n}", "{new} <- rev({list})",
            "{new} <- sapply({list}, {function})",
        ],
        "number": [
            "{new} <- {n}", "{new} <- length({list}) + {n}", "{new} <- {function}({n})",
            "delayedAssign('{new}', {number} + {n})",
        ],
        "function": [
            "{new} <- function(x) x + {number}",
            "{new} <- local({{ held <- {n}; function(x) {{ held <<- held + x; held }} }})",
            "{new} <- function(x, by = {number}) x + by", "{new} <- {function}",
            "{new} <- Reduce(function(f, g) function(x) g(f(x)), list({function}, function(x) x + {n}))",
        ],
        "environment": [
            "{new} <- new.env(); {new}$v <- {n}", "{new} <- {environment}",
            "{new} <- setRefClass('{new}_k', fields = list(v = 'numeric'))$new(v = {n})",
        ],
        "frame": [
            "{new} <- data.frame(a = c(1, {n}))", "{new} <- {frame}", "{new} <- transform({frame}, c = a + {n})",
            "{new} <- dplyr::filter({frame}, a > {n})",
        ],
        "": [
            "{list}[1] <- {n}", "{environment}$v <- {n}", "assign('{number}', {n})", "set.seed({n})",
            "{number} <- runif(1)", "options(digits = {n} + 3)", "{frame}$b <- {n}", "writeLines('{n}', 'f.txt')",
            "invisible({function}({n}))", "attr({list}, 'w') <- {n}", "environment({function})$held <- {n}",
            "rm({number})", "Sys.setenv(M = '{n}')", "set.seed({n}, kind = 'Wichmann-Hill')",
            "for ({number} in 1:{n}) NULL", "eval(parse(text = '{number} <- {n}'))", "attach(list(att = {n}))",
            "print.mine <- function(x, ...) cat('mine', {n}, '\\n')",
            "registerS3method('format', 'mine', function(x, ...) '{n}')", "(function() {number} <<- {n})()",
            "makeActiveBinding('{number}', function() {n}, globalenv())", "local({number} <- {n}, envir = globalenv())",
        ],
        "show": [
            "print({list})", "print({number})", "print({function}({n}))", "print({environment}$v)",
            "print(pi * {number})", "print({frame})", "print(readLines('f.txt'))", "print(Sys.getenv('M'))",
            "str({frame})", "print(attributes({list}))", "print(sample(5))", "print(structure({n}, class = 'mine'))",
            "format(structure(1, class = 'mine'))", "print(get(paste0('{number}', '')))", "print(att)",
            "print(sapply(ls(), function(name) class(get(name))[1]))", "print(missing{n})",
        ],
    },
    "sql": {
        "table": [
            "CREATE OR REPLACE TABLE {new} AS SELECT {n} AS a",
            "CREATE OR REPLACE TABLE {new} AS SELECT a + {n} AS a FROM {table}",
            "CREATE OR REPLACE VIEW {new}_v AS SELECT a + {n} AS a FROM {table};"
            " CREATE OR REPLACE TABLE {new} AS SELECT * FROM {new}_v",
            "CREATE OR REPLACE TEMP TABLE {new} AS SELECT {n} AS a",
            "CREATE OR REPLACE TABLE {new} (a INT DEFAULT {n}); INSERT INTO {new} VALUES ({n}), (DEFAULT)",
            "CREATE TABLE IF NOT EXISTS {new} AS FROM {table}",
            "CREATE OR REPLACE TABLE {new} AS SELECT {macro}({n}) AS a",
        ],
        "view": [
            "CREATE OR REPLACE VIEW {new} AS SELECT a + {n} AS a FROM {table}",
            "CREATE OR REPLACE VIEW {new} AS SELECT a FROM {view} WHERE a > {n}",
            "CREATE OR REPLACE VIEW {new} AS SELECT {macro}(a) AS a FROM {table}",
        ],
        "macro": [
            "CREATE OR REPLACE MACRO {new}(x) AS x + {n}", "CREATE OR REPLACE MACRO {new}(x) AS {macro}(x) * {n}",
            "CREATE OR REPLACE FUNCTION {new}(x, by := {n}) AS (SELECT sum(a) + x + by FROM {table})",
        ],
        "sequence": [
            "CREATE OR REPLACE SEQUENCE {new} START {n}", "CREATE OR REPLACE SEQUENCE {new} INCREMENT {n}",
        ],
        "variable": ["SET VARIABLE {new} = {n}", "SET VARIABLE {new} = (SELECT count(*) + {n} FROM {table})"],
        "": [
            "INSERT INTO {table} VALUES ({n})", "UPDATE {table} SET a = a + {n}", "DELETE FROM {table} WHERE a > {n}",
            "INSERT INTO {table} SELECT nextval('{sequence}')", "ALTER TABLE {table} RENAME TO {table}",
            "DROP TABLE IF EXISTS {table}", "DROP VIEW {view}", "RESET VARIABLE {variable}",
            "CREATE SCHEMA IF NOT EXISTS s; CREATE OR REPLACE TABLE s.{table} AS SELECT {n} AS a",
            "ALTER TABLE {table} ADD COLUMN IF NOT EXISTS b INT DEFAULT {n}", "TRUNCATE {table}",
            "BEGIN; INSERT INTO {table} VALUES ({n}); ROLLBACK", "BEGIN; UPDATE {table} SET a = {n}; COMMIT",
            "PREPARE q AS SELECT a + {n} AS v FROM {table}", "COPY {table} TO 'f.csv'",
            "DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('a', '{n}')", "COMMENT ON TABLE {table} IS '{n}'",
            "CREATE INDEX IF NOT EXISTS i ON {table}(a)", "DROP MACRO {macro}", "USE s",
        ],
        "show": [
            "SELECT * FROM {table}", "SELECT {macro}({n}) AS v", "SELECT nextval('{sequence}') AS v",
            "SELECT getvariable('{variable}') + {n} AS v", "SELECT sum(a) AS s FROM \"{table}\"", "FROM {view}",
            "EXECUTE q", "SELECT * FROM 'f.csv'", "SHOW TABLES", "DESCRIBE {table}", "SELECT '{n}'::mood AS v",
            "SELECT table_name, comment FROM duckdb_tables() ORDER BY ALL", "SELECT * FROM s.{table}",
            "SELECT currval('{sequence}') AS v", "WITH x AS (FROM {table}) SELECT a + {n} AS v FROM x ORDER BY 1",
            "SELECT * FROM query_table('{table}')", "SELECT * FROM {table}z", "SELECT {macro}z({n}) AS v",
            "SELECT b FROM {table}", "SELECT getvariable('{variable}z') AS v", "SELECT upper('{table}') AS v",
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
