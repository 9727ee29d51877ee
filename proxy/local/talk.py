"""A request as a model at home is asked it, and what the model says: no dialect, no server.

Owns the values between the two translations: from a caller's body to a request of the local server,
and from that server's answer to the caller's dialect. It must not know either side's JSON.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]
Sort = Literal["function", "custom"]


class Call(Struct, frozen=True):
    """A tool call in the history. `name` as the local model knows the tool."""

    id: str
    name: str
    arguments: Mapping[str, object]


class Said(Struct, frozen=True):
    """One message. `images`: bare base64. `answers` and `tool`: id of the call that a `tool`
    message answers, and the name of its tool, empty where no call with this id stands before."""

    role: Role
    text: str = ""
    images: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    thinking: str = ""
    answers: str = ""
    tool: str = ""


class Tool(Struct, frozen=True):
    """A tool that the model may call, under a name that every local server takes."""

    name: str
    description: str
    parameters: Mapping[str, object]


class Named(Struct, frozen=True):
    """What the caller calls a tool. `sort`: a `custom` one takes one string, which the local model
    gives as the parameter `input`. `namespace` is empty outside of Responses."""

    name: str
    sort: Sort = "function"
    namespace: str = ""


class Talk(Struct, frozen=True):
    """A whole request. `model`: as the caller names it. `names`: the name of a tool here → the
    caller's. `options`: sampling and limits, by Ollama's names. `form`: the JSON schema of the
    answer, or `json`. `think`: None where the caller does not say. `dropped`: what of the request
    has no meaning at home, as words of the schema, for the log."""

    model: str
    stream: bool
    messages: tuple[Said, ...]
    tools: tuple[Tool, ...] = ()
    names: Mapping[str, Named] = {}
    options: Mapping[str, object] = {}
    form: Mapping[str, object] | Literal["json"] | None = None
    think: bool | str | None = None
    dropped: tuple[str, ...] = ()


class Text(Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class Thinking(Struct, frozen=True):
    """A piece of what the model thinks."""

    text: str


class Called(Struct, frozen=True):
    """A whole tool call, under the name that the local model knows. `id`: the server's, may be
    empty. `unread`: what came for arguments where that is no object; then there are none."""

    name: str
    arguments: Mapping[str, object]
    id: str = ""
    unread: str = ""


class Ended(Struct, frozen=True):
    """The answer is complete. `reason`: `length` where a limit cut it. `read` and `written`:
    tokens."""

    reason: Literal["stop", "length"] = "stop"
    read: int = 0
    written: int = 0


Speech = Text | Thinking | Called | Ended
