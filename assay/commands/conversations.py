"""`assay conversations`."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import App, Parameter

from assay.calls import rest
from assay.commands import show
from assay.commands.session import answer, current

app = App(name="conversations", help="Conversations: messages that jobs with the same conversation id share.")
_Id = Annotated[str, Parameter(help="Conversation id")]


@app.command(name="ls")
def list_conversations(
    *, cursor: Annotated[str | None, Parameter(help="next_cursor of the page before")] = None
) -> None:
    """List conversations, newest first."""
    columns = ["id", "updated", "messages", "kinds", "title"]
    answer(rest.conversations(limit=200, cursor=cursor), show.listing(columns, _summary))


@app.command(name="show")
def show_conversation(id: _Id) -> None:
    """Print the messages of a conversation."""
    answer(rest.conversation(id), _messages)


@app.command
def rm(id: _Id) -> None:
    """Delete a conversation; its jobs stay."""
    current().client.fetch(rest.delete_conversation(id))


def _summary(each: dict[str, Any]) -> list[object]:
    kinds = ",".join(each.get("kinds", ()))
    return [each["id"], show.clock(each["updated_at"]), each["messages_count"], kinds, each.get("title")]


def _messages(conversation: Any) -> str:
    return "\n\n".join(f"{message['role']}: {message['content']}" for message in conversation["messages"])
