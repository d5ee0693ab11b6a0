"""The flows worker: edits of diagrams by messages."""

from __future__ import annotations

from services.flows.mutate import Mutate
from services.flows.settings import EditSettings
from shared.flows.session import FlowEditor
from shared.flows.settings import FlowSettings
from shared.flows.store import FlowStore
from shared.jobs.worker import open_worker
from shared.plugins import load_plugins
from shared.settings import PluginSettings


def main() -> None:
    load_plugins(PluginSettings().modules)
    settings = FlowSettings()
    worker = open_worker("flows")
    editor = FlowEditor(worker.engine, FlowStore(settings.undo_depth, settings.flow_versions))
    worker.serve("flow", Mutate(editor, EditSettings()))
    worker.run()
