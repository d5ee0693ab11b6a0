"""The worker of ``translate`` jobs."""

from __future__ import annotations

from shared.jobs.job import Context
from shared.jobs.worker import open_worker
from shared.llm.chat import ChatMessage, ChatRequest
from shared.plugins import load_plugins
from shared.settings import PluginSettings
from tests.services.gateway.jobs.toy_kind import TranslateInput, TranslateResult


def translate(context: Context, request: TranslateInput) -> TranslateResult:
    prompt = context.prompts.render("translation.translate", language=request.into, text=request.text)
    question = ChatMessage("user", prompt.text)
    reply = context.llm.complete(ChatRequest("translation.translate", (question,), prompt=prompt.version))
    return TranslateResult(text=reply.text)


if __name__ == "__main__":
    load_plugins(PluginSettings().modules)
    worker = open_worker("translation")
    worker.serve("translate", translate)
    worker.run()
