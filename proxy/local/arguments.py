"""What an answer gives the tools that it calls, in the dialects that a local server may speak.

Owns where it stands, in pieces or whole. It must not know what it is gathered for.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

Part = tuple[str, str]
"""Which call, and the next piece of what it is given."""


def parts(value: Any) -> Iterator[Part]:
    """The pieces in one event, or in a whole answer."""
    match value:
        case {"type": "content_block_delta", "delta": {"partial_json": str(piece)}}:
            yield str(value.get("index")), piece
        case {"type": "response.function_call_arguments.done", "arguments": str(piece)}:
            yield str(value.get("output_index")), piece
        case {"type": "response.custom_tool_call_input.done", "input": str(piece)}:
            yield str(value.get("output_index")), piece
        case {"choices": [*choices]}:
            for at, choice in enumerate(choices):
                yield from _chat(at, choice)
        case {"content": [*items], "role": "assistant"} | {
            "output": [*items],
            "object": "response",
        }:
            for at, item in enumerate(items):
                yield from _item(at, item)
        case _:
            pass


def _chat(at: int, choice: Any) -> Iterator[Part]:
    match choice:
        case {"delta": {"tool_calls": [*calls]}} | {"message": {"tool_calls": [*calls]}}:
            for number, call in enumerate(calls):
                which = f"{at} {call.get('index', number) if isinstance(call, dict) else ''}"
                match call:
                    case {"function": {"arguments": str(piece)}} | {
                        "custom": {"input": str(piece)}
                    }:
                        yield which, piece
                    case _:
                        pass
        case _:
            pass


def _item(at: int, item: Any) -> Iterator[Part]:
    match item:
        case {"type": "tool_use", "input": given}:
            yield str(at), msgspec.json.encode(given).decode()
        case {"arguments": str(piece)} | {"input": str(piece)}:
            yield str(at), piece
        case _:
            pass


def strings_in(given: str) -> list[str]:
    """The strings in what a call is given; all of it where it is no JSON."""
    try:
        return [*strings(msgspec.json.decode(given))]
    except (msgspec.DecodeError, ValueError, RecursionError):
        return [given]


def strings(value: object) -> Iterator[str]:
    """Every string in what a call is given: clients keep it in shapes of their own."""
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from strings(each)
        case list():
            for each in value:
                yield from strings(each)
        case _:
            pass
