"""A document that was only checked, compared with an earlier job: each block's check, and whether it is stale."""

from __future__ import annotations

from collections.abc import Sequence

from services.execution.documents.run.running import RunningDocument
from shared.contracts.document import Block, BlockMessage


def compared(checked: Sequence[Block], document: RunningDocument) -> list[Block]:
    """Return the checked blocks, each with what the walk took from the earlier job; after an include those within."""
    own = {block.id for block in checked}
    blocks: list[Block] = []
    for block in checked:
        walked = document.blocks.get(block.id)
        blocks.append(block if walked is None else _merged(block, walked, stale=block.id in document.stale))
        if block.kind in ("include", "call"):
            blocks += [
                _merged(each, each, stale=each.id in document.stale)
                for each in document.blocks.values()
                if each.id.startswith(f"{block.id}/") and each.id not in own
            ]
    return blocks


def _merged(checked: Block, walked: Block, *, stale: bool) -> Block:
    """Return what would go wrong stands before what was: its values can be kept, but it cannot run as it is."""
    status = "error" if checked.status == "error" else "stale" if stale else walked.status
    known = {(message.code, message.text) for message in checked.messages}
    more: list[BlockMessage] = [each for each in walked.messages if (each.code, each.text) not in known]
    return walked.model_copy(
        update={
            "status": status,
            "language": walked.language or checked.language,
            "model": walked.model or checked.model,
            "messages": [*checked.messages, *more],
        }
    )
