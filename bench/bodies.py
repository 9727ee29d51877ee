"""Request bodies as agents send them: a history of tool calls and their results, always the same.

Texts are cut from Python's own library. `fresh` gives every request a new last result, as a new
turn of a conversation has.
"""

import inspect
import json
from collections.abc import Iterator, Sequence
from http import client, cookiejar, server
from itertools import count

_MARK = "0" * 12
_PARALLEL = 4
_NUMBERS = count()


def _text() -> str:
    return "\n".join(inspect.getsource(module) for module in (client, cookiejar, server))


def _block(kind: str, **fields: object) -> dict[str, object]:
    return {"type": kind, **fields}


def _turn(number: int, text: str, size: int, name: str) -> list[dict[str, object]]:
    """An answer of the model with calls in it, and the message with their results, which begin
    with `name`."""
    ids = [f"toolu_{number:04d}_{i}" for i in range(_PARALLEL)]
    calls = [
        _block("tool_use", id=n, name="read_file", input={"path": f"src/{n}.py", "limit": 200})
        for n in ids
    ]
    results = []
    for i, one in enumerate(ids):
        start = (number * _PARALLEL + i) * 977 % (len(text) - size)
        content = name + text[start : start + size]
        results.append(_block("tool_result", tool_use_id=one, content=content))
    said = _block("text", text=f"Step {number}: I look at four more files.")
    return [
        {"role": "assistant", "content": [said, *calls]},
        {"role": "user", "content": results},
    ]


def _body(messages: list[dict[str, object]], stream: bool) -> bytes:
    tool = {
        "name": "read_file",
        "description": "Read a text file of the project.",
        "input_schema": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        },
    }
    body = {
        "model": "bench",
        "max_tokens": 1024,
        "system": "You are a careful engineer.",
        "tools": [tool],
        "messages": messages,
        "stream": stream,
    }
    return json.dumps(body, separators=(",", ":")).encode()


def history(size: int, *, stream: bool = False, name: str = "") -> list[bytes]:
    """Bodies of every request of one conversation; the last one has about `size` bytes. `name`
    stands in every text, so that nothing of it is known from another."""
    text = _text()
    result = min(2000, size // 8)
    messages: list[dict[str, object]] = [
        {"role": "user", "content": f"Find the fault. Bench {size}{name}."}
    ]
    bodies: list[bytes] = []
    turns = 0
    while not bodies or len(bodies[-1]) < size - _PARALLEL * result // 2:
        messages += _turn(turns, text, result, name)
        turns += 1
        bodies.append(_body(messages, stream))
    return bodies


def fresh(body: bytes, port: str, stream: str = "") -> Iterator[Sequence[bytes]]:
    """Endless requests: the head, and `body` with a number in its last result that no other request
    of this process has. `stream`: events and milliseconds between them, for the fake upstream."""
    at = body.rindex(b'"}]}],"stream"')
    before, after = body[:at], body[at:]
    head = _head(port, len(body) + len(_MARK), f"bench-stream: {stream}\r\n" * bool(stream))
    for number in _NUMBERS:
        yield head, before, b"%012d" % number, after


def whole(body: bytes, port: str, path: str = "/v1/messages") -> Sequence[bytes]:
    """One request with `body` as it is."""
    return _head(port, len(body), "", path), body


def _head(port: str, length: int, extra: str, path: str = "/v1/messages") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nhost: {port}\r\ncontent-type: application/json\r\n"
        f"anthropic-version: 2023-06-01\r\naccept: application/json\r\n"
        f"content-length: {length}\r\n{extra}\r\n"
    ).encode()
