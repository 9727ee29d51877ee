"""What stands in a request to a model at home for things that it cannot be given, or must be told.

Owns these texts. None of them ever leaves for a cloud: the proof does not know them. It must not
know a dialect.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from proxy.lazyjson import dump

PICTURE: Final = "[a picture stands here that this model cannot be shown]"
DOCUMENT: Final = "[a document stands here that this model cannot be shown]"
SOUND: Final = "[a recording stands here that this model cannot be played]"
COMPACTED: Final = (
    "[an earlier part of this conversation stands here that only its vendor can read]"
)
FAILED: Final = "[the tool failed]"
CALL_NOW: Final = "Answer with a call of one of the tools."


def loaded(tools: Sequence[str]) -> str:
    """For the result of a search for tools."""
    return f"Tools loaded: {', '.join(tools)}."


def call_of(tool: str) -> str:
    """For a request that forces one tool."""
    return f"Answer with a call of the tool {tool}."


def unread(arguments: str) -> str:
    """For a call in the history whose arguments are no JSON object."""
    return f"[called with arguments that are no JSON object: {arguments}]"


def written_as(form: str) -> str:
    """For a tool that takes one string of a certain form."""
    return f"The input is written in this form:\n{form}"


def answer_as(form: Mapping[str, object] | str) -> str:
    """For a form of the answer that cannot be enforced, as the model may call tools."""
    if isinstance(form, str):
        return "Unless you call a tool, answer with JSON alone."
    return f"Unless you call a tool, answer with JSON of this schema alone:\n{dump(form).decode()}"


def exit_code(code: int) -> str:
    """For how a command ended."""
    return f"[exit code {code}]"


TIMED_OUT: Final = "[timed out]"
