"""``document``: code runs first, messages are filled in with its values, answers are spliced back."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from services.execution.documents.block_runner import Walk
from services.execution.documents.check import DocumentCheck
from services.execution.documents.includes import MAX_INCLUDED, IncludedFiles
from services.execution.documents.llm.instructions import Instructions
from services.execution.documents.notebooks.reading import CURRENT, Json, as_markdown, notebook_in
from services.execution.documents.notebooks.writing import notebook_of
from services.execution.documents.page import page
from services.execution.documents.parse.changes import unanswered
from services.execution.documents.parse.flavours import recognised
from services.execution.documents.parse.nodes import DocumentTree, Note, Parameter
from services.execution.documents.parse.options import defaults_of
from services.execution.documents.parse.reader import parse
from services.execution.documents.resolve.renderer import Renderer
from services.execution.documents.run import state
from services.execution.documents.run.chunks import Chunks
from services.execution.documents.run.comparison import compared
from services.execution.documents.run.kernels import DOCUMENT, Kernels
from services.execution.documents.run.restoring import Restoring, RunAgain
from services.execution.documents.run.running import RunningDocument
from services.execution.inputs import fetch_files
from services.execution.sandbox.host.sandbox import Sandbox
from services.execution.sandbox.values import plain
from shared.contracts.document import Block, DocumentFile, DocumentInput, DocumentResult, Estimate
from shared.contracts.execute import InputFile
from shared.declarations.documents import parameter_faults, parameters_schema
from shared.errors import InvalidRequest, SourceTooLarge
from shared.jobs.job import Context

_LARGEST = 16_000_000
_MAX_VARIABLE = 20_000
_NOTEBOOK = "application/x-ipynb+json"
_DOCUMENTS = frozenset([".md", ".qmd", ".smd", ".myst", ".Rmd", ".markdown"])


class Documents:
    """The capability; one sandbox and one renderer serve every job of a worker."""

    def __init__(self, sandbox: Sandbox, renderer: Renderer) -> None:
        self._sandbox = sandbox
        self._renderer = renderer

    def __call__(self, context: Context, request: DocumentInput) -> DocumentResult:
        """Run a document job. Raises: NotFound, InvalidRequest, SandboxUnavailable, JobCancelled."""
        markdown = _read(context, request)
        notebook = notebook_in(markdown)
        if notebook is not None:
            markdown, request = as_markdown(notebook), request.model_copy(update={"flavour": "myst"})
        request = request.model_copy(update={"flavour": request.flavour or recognised(markdown)})
        tree = parse(markdown, request.notation)
        if notebook is not None and notebook["nbformat"] < CURRENT:
            text = f"The notebook has nbformat {notebook['nbformat']}; it is read, and written, as nbformat 4.5."
            tree = replace(tree, notes=(*tree.notes, (0, Note("info", "notebook_upgraded", text))))
        if request.execute == "none":
            return self._looked_at(context, request, tree)
        if request.file_id is not None and (faults := parameter_faults(markdown, request.parameters)):
            errors: list[tuple[list[str | int], str]] = [
                (["body", "input", "parameters", name], fault) for name, fault in faults.items()
            ]
            raise InvalidRequest("; ".join(fault for _, fault in errors[:3]), errors)
        self._renderer.warm()
        with self._sandbox.scratch() as folder:
            files = fetch_files(context.files, request.files, folder)
            kernels = Kernels(self._sandbox, context.budget, files, context.cancelled)
            try:
                return self._run(context, request, tree, kernels, folder, notebook)
            finally:
                kernels.close()

    def _run(
        self,
        context: Context,
        request: DocumentInput,
        tree: DocumentTree,
        kernels: Kernels,
        folder: Path,
        notebook: Json | None,
    ) -> DocumentResult:
        before = state.load(context, request.previous_job_id) if request.execute == "stale" else None
        environment = self._environment(context, request, kernels.files)
        document = RunningDocument(
            context, request, kernels, self._renderer, before, environment, defaults=defaults_of(tree.lines),
            source=tree.source,
        )  # fmt: skip
        while True:
            try:
                instructions, included = _walked(document, tree, folder)
                break
            except RunAgain as again:
                document = document.begun_again(again.keys)
        if request.execute == "stale" and request.previous_job_id is not None and before is None:
            document.warn("The earlier job has left nothing to build on: everything ran.")
        for text in [
            *(note.text for _, note in tree.notes),
            *DocumentCheck(context, request, tree).unused_parameters(),
        ]:
            document.warn(text)
        written = tree.source if request.dry_run else instructions.markdown()
        standing = tree if written == tree.source else parse(written, request.notation)
        made = page(document, standing) if not request.dry_run else None
        saved = context.files.save("document.md", written.encode(), "text/markdown")
        cells = notebook_of(document, standing, notebook) if request.notebook and not request.dry_run else None
        for warning in document.warnings[:50]:
            context.report.warn(warning)
        return DocumentResult(
            markdown=written,
            file_id=saved.id,
            html_file_id=None if made is None else context.files.save("document.html", made.html, "text/html").id,
            notebook_file_id=None if cells is None else context.files.save("document.ipynb", cells, _NOTEBOOK).id,
            page_spans=[] if made is None else made.spans,
            blocks=list(document.blocks.values()),
            variables=_variables(document),
            warnings=document.warnings,
            estimate=_estimate(document) if request.dry_run else None,
            parameters_schema=parameters_schema(tree.source),
            state_file_id=state.save(context, document.after),
            files=[] if request.dry_run else _files(context, included.read),
        )

    def _looked_at(self, context: Context, request: DocumentInput, tree: DocumentTree) -> DocumentResult:
        """Check the blocks without running anything; with an earlier job, find those whose values are stale."""
        check = DocumentCheck(context, request, tree)
        if request.previous_job_id is None:
            return _untouched(context, check, check.blocks(), check.warnings())
        before = state.load(context, request.previous_job_id)
        with self._sandbox.scratch() as folder:
            files = fetch_files(context.files, request.files, folder)
            kernels = Kernels(self._sandbox, context.budget, files, context.cancelled)  # which starts none
            environment = self._environment(context, request, files)
            document = RunningDocument(context, request, kernels, self._renderer, before, environment, looks=True)
            _walked(document, tree, folder)
        blocks, warnings = compared(check.blocks(), document), check.warnings()
        if before is None:
            return _untouched(context, check, blocks, [*warnings, "The earlier job has left nothing to compare with."])
        result = _untouched(context, check, blocks, warnings)
        # The next job may build on this one as it would have on the earlier.
        return result.model_copy(
            update={"variables": _variables(document), "state_file_id": state.save(context, before)}
        )

    def _environment(self, context: Context, request: DocumentInput, files: Mapping[str, Path]) -> str:
        contents = sorted((file.path, _content(context, request, file, files[file.path])) for file in request.files)
        return state.digest(contents, sorted(self._sandbox.languages().items()))


def _content(context: Context, request: DocumentInput, file: InputFile, fetched: Path) -> str:
    """Return a file's digest; for a document, that of its text without the models' answers."""
    info = context.files.info(file.id)
    if posixpath.splitext(file.path)[1] in _DOCUMENTS and info.size <= MAX_INCLUDED:
        with suppress(UnicodeDecodeError):
            return state.digest(unanswered(parse(fetched.read_bytes().decode(), request.notation)))
    return info.sha256 or file.id


def _files(context: Context, included: Mapping[str, Instructions]) -> list[DocumentFile]:
    """Return the included files that have gained answers, in their new form."""
    written = {path: instructions.markdown() for path, instructions in included.items()}
    changed = [(path, text) for path, text in written.items() if text != included[path].tree.source]
    return [
        DocumentFile(path=path, file_id=context.files.save(posixpath.basename(path), text.encode(), "text/markdown").id)
        for path, text in changed
    ]


def _read(context: Context, request: DocumentInput) -> str:
    if request.markdown is not None:
        return request.markdown
    file_id = str(request.file_id)
    if context.files.info(file_id).size > _LARGEST:
        raise SourceTooLarge(f"A document has at most {_LARGEST:,} bytes.")
    with context.files.open(file_id) as stream:
        body = stream.read(_LARGEST)
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise InvalidRequest("the document is not UTF-8 text", [(["input", "file_id"], "not UTF-8 text")]) from None


def _walked(document: RunningDocument, tree: DocumentTree, folder: Path) -> tuple[Instructions, IncludedFiles]:
    """Run every block in order, with the values that the request gives."""
    request = document.request
    for name, value in request.parameters.items():
        document.set_value(name, value)
    if request.notation == "quarto":
        document.set_value("params", _params(tree, request))
    chunks = Chunks(document, Restoring(document.known, document.kernels, document.context.files, folder))
    instructions = Instructions(document, chunks, tree)
    included = IncludedFiles(chunks, document.kernels.files)
    Walk(document, chunks, instructions, included, given=request.parameters).run(tree.content)
    return instructions, included


def _untouched(context: Context, check: DocumentCheck, blocks: list[Block], warnings: list[str]) -> DocumentResult:
    """Return the document unchanged."""
    source = check.tree.source
    return DocumentResult(
        markdown=source,
        file_id=context.files.save("document.md", source.encode(), "text/markdown").id,
        html_file_id=None,
        blocks=blocks,
        variables={},
        warnings=warnings,
        parameters_schema=parameters_schema(source),
    )


def _variables(document: RunningDocument) -> dict[str, JsonValue]:
    """Return the plain values at the end, if they were inspected."""
    variables: dict[str, JsonValue] = {}
    for name in document.digests:
        block = document.holders.get(name)
        if document.kernels.owner.get(name) == DOCUMENT:
            variables[name] = document.kernels.own[name]
        elif block is not None and name in block.values:
            value = block.values[name]
            plain_enough = value.kind != "table" and len(str(value.data)) <= _MAX_VARIABLE
            variables[name] = plain(value.data) if plain_enough else value.text
    return variables


def _params(tree: DocumentTree, request: DocumentInput) -> dict[str, JsonValue]:
    """Return the parameters for ``params$name`` in R: those of the front matter, and those submitted."""
    defaults: dict[str, JsonValue] = {}
    for node in tree.content:
        if isinstance(node, Parameter):
            with suppress(ValueError):
                defaults[node.declared.name] = node.declared.default
    return {**defaults, **request.parameters}


def _estimate(document: RunningDocument) -> Estimate:
    return Estimate(
        calls=document.calls,
        input_tokens=document.input_tokens,
        output_tokens=document.output_tokens,
        cost_usd=document.cost,
    )
