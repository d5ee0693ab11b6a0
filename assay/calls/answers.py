"""How answers become contract models; the models are imported when the first answer is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.calls.call import Reply
    from shared.contracts.capabilities import Capabilities
    from shared.contracts.common import Page
    from shared.contracts.conversations import Conversation, ConversationSummary
    from shared.contracts.definitions import DefinitionsCheck, DefinitionSet, DefinitionsVersion, Proposal
    from shared.contracts.files import FileInfo
    from shared.contracts.jobs import BatchView, JobView
    from shared.contracts.keys import KeyInfo, NewKey
    from shared.contracts.models import LlmCalls, Models, ModelTest, Prompt, Providers
    from shared.contracts.search import Collection


def job(reply: Reply) -> JobView:
    from shared.contracts.jobs import JobView  # noqa: PLC0415

    return JobView.model_validate_json(reply.body)


def jobs(reply: Reply) -> Page[JobView]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.jobs import JobView  # noqa: PLC0415

    return Page[JobView].model_validate_json(reply.body)


def batch(reply: Reply) -> BatchView:
    from shared.contracts.jobs import BatchView  # noqa: PLC0415

    return BatchView.model_validate_json(reply.body)


def llm_calls(reply: Reply) -> LlmCalls:
    from shared.contracts.models import LlmCalls  # noqa: PLC0415

    return LlmCalls.model_validate_json(reply.body)


def file(reply: Reply) -> FileInfo:
    from shared.contracts.files import FileInfo  # noqa: PLC0415

    return FileInfo.model_validate_json(reply.body)


def files(reply: Reply) -> Page[FileInfo]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.files import FileInfo  # noqa: PLC0415

    return Page[FileInfo].model_validate_json(reply.body)


def content(reply: Reply) -> bytes:
    return reply.body


def text(reply: Reply) -> str:
    return reply.text


def new_key(reply: Reply) -> NewKey:
    from shared.contracts.keys import NewKey  # noqa: PLC0415

    return NewKey.model_validate_json(reply.body)


def keys(reply: Reply) -> Page[KeyInfo]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.keys import KeyInfo  # noqa: PLC0415

    return Page[KeyInfo].model_validate_json(reply.body)


def capabilities(reply: Reply) -> Capabilities:
    from shared.contracts.capabilities import Capabilities  # noqa: PLC0415

    return Capabilities.model_validate_json(reply.body)


def conversation(reply: Reply) -> Conversation:
    from shared.contracts.conversations import Conversation  # noqa: PLC0415

    return Conversation.model_validate_json(reply.body)


def conversations(reply: Reply) -> Page[ConversationSummary]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.conversations import ConversationSummary  # noqa: PLC0415

    return Page[ConversationSummary].model_validate_json(reply.body)


def prompt(reply: Reply) -> Prompt:
    from shared.contracts.models import Prompt  # noqa: PLC0415

    return Prompt.model_validate_json(reply.body)


def prompts(reply: Reply) -> Page[Prompt]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.models import Prompt  # noqa: PLC0415

    return Page[Prompt].model_validate_json(reply.body)


def models(reply: Reply) -> Models:
    from shared.contracts.models import Models  # noqa: PLC0415

    return Models.model_validate_json(reply.body)


def model_test(reply: Reply) -> ModelTest:
    from shared.contracts.models import ModelTest  # noqa: PLC0415

    return ModelTest.model_validate_json(reply.body)


def providers(reply: Reply) -> Providers:
    from shared.contracts.models import Providers  # noqa: PLC0415

    return Providers.model_validate_json(reply.body)


def collection(reply: Reply) -> Collection:
    from shared.contracts.search import Collection  # noqa: PLC0415

    return Collection.model_validate_json(reply.body)


def collections(reply: Reply) -> Page[Collection]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.search import Collection  # noqa: PLC0415

    return Page[Collection].model_validate_json(reply.body)


def definition_set(reply: Reply) -> DefinitionSet:
    from shared.contracts.definitions import DefinitionSet  # noqa: PLC0415

    return DefinitionSet.model_validate_json(reply.body)


def definitions_check(reply: Reply) -> DefinitionsCheck:
    from shared.contracts.definitions import DefinitionsCheck  # noqa: PLC0415

    return DefinitionsCheck.model_validate_json(reply.body)


def definition_versions(reply: Reply) -> Page[DefinitionsVersion]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.definitions import DefinitionsVersion  # noqa: PLC0415

    return Page[DefinitionsVersion].model_validate_json(reply.body)


def proposal(reply: Reply) -> Proposal:
    from shared.contracts.definitions import Proposal  # noqa: PLC0415

    return Proposal.model_validate_json(reply.body)


def proposals(reply: Reply) -> Page[Proposal]:
    from shared.contracts.common import Page  # noqa: PLC0415
    from shared.contracts.definitions import Proposal  # noqa: PLC0415

    return Page[Proposal].model_validate_json(reply.body)
