"""What a scripted model does next: calls for the files that the user named, or a closing sentence.

Owns the model's one behaviour and the reading of untyped JSON. It must not know a wire format.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import TypeGuard

from proxy.demo.connection import Recorded

JSON = dict[str, object]

TOOL = "read_file"
_FILE = re.compile(r"\b[\w-]+\.[a-z]{2,4}\b")


class Unfit(Exception):
    """A body that the vendor would refuse. The text says why and quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of `read_file`. `key` is unique to the call and a function of the request body."""

    key: str
    path: str


@dataclass(frozen=True, slots=True)
class Plan:
    """The next output: calls, or a text where there are none. `key` names the output."""

    key: str
    calls: tuple[Call, ...]
    text: str


def plan(request: Recorded, question: str, results: int, *, has_tool: bool) -> Plan:
    """`question` is the newest text of the user, `results` the number of tool results after it."""
    key = hashlib.sha256(request.body).hexdigest()[:24]
    paths = () if results or not has_tool else tuple(dict.fromkeys(_FILE.findall(question)))
    calls = tuple(Call(f"{key[:20]}{number:04}", path) for number, path in enumerate(paths))
    files = "1 file" if results == 1 else f"{results} files"
    text = f"I have read {files} and summed them up." if results else "There is nothing to read."
    return Plan(key, calls, "" if calls else text)


def body_of(request: Recorded) -> JSON:
    """The request's JSON object. `Unfit` where it is none."""
    try:
        return request.json()
    except ValueError:
        raise Unfit("the body is not a JSON object") from None


def is_object(value: object) -> TypeGuard[JSON]:
    """Is this a JSON object?"""
    return isinstance(value, dict)


def objects(value: object) -> list[JSON]:
    """The objects of a JSON array; none where it is no array."""
    return [item for item in value if is_object(item)] if isinstance(value, list) else []


def required(body: JSON, name: str) -> list[JSON]:
    """The objects of an array that must be there and not be empty."""
    found = objects(body.get(name))
    if not found:
        raise Unfit(f"{name}: a list with at least one item is required")
    return found


def text_of(content: object, kind: str = "text") -> str:
    """The text of a content that is a string or a list of parts of type `kind`."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in objects(content) if part.get("type") == kind]
    return "\n".join(part for part in parts if isinstance(part, str))


def paired(open_calls: set[object], answered: set[object]) -> None:
    """Refuse results without their call and calls without their result."""
    if answered - open_calls:
        raise Unfit("a tool result answers no call")
    if open_calls - answered:
        raise Unfit("a tool call has no result")


def words(text: str) -> list[str]:
    """The text in pieces as a stream brings them."""
    return re.findall(r"\s*\S+", text)


def halves(text: str) -> tuple[str, str]:
    """The text in two pieces."""
    return text[: len(text) // 2], text[len(text) // 2 :]
