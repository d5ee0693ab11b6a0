"""The table of languages that code may be written in: what the API, the command, documents and transforms know of each.

A new language is a row here (or in a plugin's ``register()``) and a folder with its runtime, which the row names.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Annotated, Literal

from typing_extensions import TypeAliasType

from shared.specs import NameIn, SpecTable

DEFAULT_LANGUAGE = "python"


@dataclass(frozen=True)
class TableReader:
    """How a language, or one of its libraries, takes the tables of a transform."""

    name: str  #: as ``dataframe`` names it, where a language has several
    prompt: str  #: the prompt ``execution.transform_PROMPT`` has the rules for code
    #: It reads a file larger than memory bit by bit: what code has to know of such a table.
    lazy_note: str | None = None
    #: Whole numbers that it would round cross as text: those of every column, or of one with missing cells.
    rounds: Literal["never", "with_missing", "always"] = "never"
    dates: bool = True  #: it has a type for dates: else they cross as timestamps
    frame: str = "Table"  #: what a table is called in it
    types: Mapping[str, str] = field(default_factory=dict)  #: what it calls types of columns, where not as Assay does

    @property
    def lazy(self) -> bool:
        return self.lazy_note is not None


@dataclass(frozen=True)
class NotebookKernel:
    """The Jupyter kernel that runs the language."""

    name: str
    title: str
    language: str


@dataclass(frozen=True)
class Language:
    name: str
    title: str  #: in prose, as people and models write it
    extensions: tuple[str, ...]  #: of files, with the dot
    runtime: str  #: ``module:NAME`` of its ``LanguageSpec``, which the execution service imports
    aliases: tuple[str, ...] = ()  #: other words for it behind a code fence
    libraries: tuple[str, ...] = ()  #: words behind a model's code fence that mean code in this language
    comment: str = "#"  #: what a line of comment begins with
    readers: tuple[TableReader, ...] = ()  #: for the code of transforms; the first is the default
    result: Literal["variable", "query"] = "variable"  #: where a transform's result is when its code has ended
    sorts_groups: str = ""  #: pattern of code whose groups come in the order of their keys, which it did not ask for
    plots: bool = False  #: a transform may draw in it
    whole_floats: bool = False  #: it writes 4 for the number 4.0
    vectors: bool = False  #: its values are vectors, which stand within prose as "1, 2"
    is_reserved: Callable[[str], bool] = lambda _name: False  #: whether no variable may have this name
    folds_case: bool = False  #: names that differ only by the case of their letters are the same
    notebook: NotebookKernel | None = None
    magics: bool = False  #: its notebooks have IPython's magics
    cell_magics: tuple[str, ...] = ()  #: magics by which a cell of another notebook is in this language
    warning: str = ""  #: pattern of a warning on its stderr; empty where all of that counts as one

    @property
    def transforms(self) -> bool:
        return bool(self.readers)

    def reader(self, dataframe: str) -> TableReader:
        """Return the reader of this name, or the language's own where the name means nothing to it."""
        return next((reader for reader in self.readers if reader.name == dataframe), self.readers[0])


LANGUAGES: SpecTable[Language] = SpecTable(
    "language",
    [
        Language(
            name=DEFAULT_LANGUAGE,
            title="Python",
            extensions=(".py",),
            runtime="services.execution.languages.python.spec:PYTHON",
            aliases=("py", "python3", "ipython", "ipython3"),
            libraries=("pandas", "polars"),
            readers=(
                TableReader(
                    "pandas",
                    prompt="python_pandas",
                    rounds="with_missing",
                    dates=False,
                    frame="DataFrame",
                    types={
                        "int": "int64",
                        "float": "float64",
                        "string": "object",
                        "date": "datetime64",
                        "datetime": "datetime64",
                    },
                ),
                TableReader(
                    "polars",
                    prompt="python_polars",
                    frame="DataFrame",
                    lazy_note="larger than memory: it is a polars LazyFrame; "
                    "filter, select and aggregate before collect()",
                ),
            ),
            sorts_groups=r"\.groupby\(|\bpivot_table\(|\bcrosstab\(|\.value_counts\(",
            plots=True,
            is_reserved=keyword.iskeyword,
            notebook=NotebookKernel("python3", "Python 3", "python"),
            magics=True,
        ),
        Language(
            name="r",
            title="R",
            extensions=(".r",),
            runtime="services.execution.languages.r.spec:R",
            aliases=("ir",),
            libraries=("rscript", "splus"),
            readers=(TableReader("r", prompt="r", rounds="always", frame="data.frame"),),
            plots=True,
            whole_floats=True,
            vectors=True,
            notebook=NotebookKernel("ir", "R", "R"),
            cell_magics=("R",),
            warning=r"^Warning(?: message:| in .*:|: ).*\n?(?:^ {2}.*\n?)*",
        ),
        Language(
            name="javascript",
            title="JavaScript",
            extensions=(".js", ".mjs"),
            runtime="services.execution.languages.javascript.spec:JAVASCRIPT",
            aliases=("js", "node", "nodejs"),
            comment="//",
            notebook=NotebookKernel("deno", "JavaScript", "javascript"),
        ),
        Language(
            name="sql",
            title="DuckDB SQL",
            extensions=(".sql",),
            runtime="services.execution.languages.sql.spec:SQL",
            aliases=("duckdb",),
            comment="--",
            readers=(
                TableReader(
                    "sql",
                    prompt="sql",
                    lazy_note="larger than memory: read from its file as far as a query asks; "
                    "filter and aggregate, never copy it",
                ),
            ),
            result="query",
            folds_case=True,
            notebook=NotebookKernel("xsql", "SQL", "sql"),
            cell_magics=("sql",),
        ),
    ],
)


def second_language(language: str) -> str:
    """Return the language that a result is computed in a second time: SQL, or Python if SQL is the first."""
    return "python" if language == "sql" else "sql"


def language_of_word(word: str) -> Language | None:
    """Return the language that goes by this name, in any case."""
    word = word.lower()
    return next((row for row in LANGUAGES.values() if word == row.name or word in row.aliases), None)


def language_of_file(path: str) -> Language | None:
    """Return the language that the file's extension names."""
    extension = PurePath(path).suffix.lower()
    return next((row for row in LANGUAGES.values() if extension in row.extensions), None)


LanguageName = TypeAliasType("LanguageName", Annotated[str, NameIn(LANGUAGES, "Language of code")])
TransformLanguage = TypeAliasType(
    "TransformLanguage", Annotated[str, NameIn(LANGUAGES, "Language of data-frame code", lambda row: row.transforms)]
)
