"""The questions as tools of a server for the Model Context Protocol; needs the extra `mcp`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from bayplan import __version__
from bayplan.assistant.questions import Questions, message_of
from bayplan.assistant.replies import Reply
from bayplan.model.errors import InvalidObject

_INSTRUCTIONS = (
    "Answers questions about how Kubernetes schedules pods, with kube-scheduler's own rules: same nodes, same victims, "
    "same messages. Only reads the cluster. Start with `pending`, then `explain` and `fix` for one pod. Before a "
    "change, ask `whatif`; before maintenance, `drain`. `document` has everything as data; `shortened` names lists "
    "that were cut. Commands in fixes change the cluster: show them to a person instead of running them."
)


def make_server(questions: Questions) -> MCPServer[Any]:
    """A tool for each question."""
    server = MCPServer("bayplan", instructions=_INSTRUCTIONS, version=__version__)
    read_only = ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    for name in tool_names():
        server.add_tool(_reporting(questions, name), name=name, annotations=read_only, structured_output=True)
    return server


def tool_names() -> list[str]:
    return [name for name, member in vars(Questions).items() if callable(member) and not name.startswith("_")]


def _reporting(questions: Questions, name: str) -> Callable[..., Reply]:
    """Bad input is a message for the assistant, not an error of the server."""
    ask: Callable[..., Reply] = getattr(questions, name)

    @wraps(ask)
    def asked(*args: Any, **kwargs: Any) -> Reply:
        try:
            return ask(*args, **kwargs)
        except InvalidObject as error:
            raise ToolError(message_of(questions, error)) from error
        except OSError as error:
            raise ToolError(str(error)) from error

    return asked
