"""Calls of an answer against what the request declared."""

from typing import Any

from policies.settings import RefusalRule
from proxy.dialects.calls import Call
from proxy.hearing import MOST_CALLS, Declared, judged
from proxy.lazyjson import read

TOOLS = b'{"tools": [{"name": "read", "input_schema": {"type": "object", "required": ["path"]}}]}'


def declared(**more: Any) -> Declared:
    return Declared(frozenset({"read", "files"}), read(TOOLS).root.get("tools"), **more)


def faults(*calls: Call, **more: Any) -> list[tuple[str, str, str]]:
    found = judged(calls, declared(**more))
    return [(fault.kind, fault.tool, fault.why) for fault in found]


def test_a_call_that_fits_has_no_fault() -> None:
    """Parsed or as text; a call without arguments is an empty object."""
    assert faults(Call("read", value={"path": "a"}), Call("read", text='{"path": "a"}')) == []
    assert faults(Call("files", text=" ")) == []
    assert faults() == []


def test_arguments_that_do_not_fit() -> None:
    """No JSON, no object, not as declared; each once."""
    calls = [Call("read", text='{"path"'), Call("read", text="[1]"), Call("read", value={})]
    assert faults(*calls, *calls) == [
        ("arguments-invalid", "read", "no JSON"),
        ("arguments-invalid", "read", "no object"),
        ("arguments-invalid", "read", "not as declared"),
    ]
    assert faults(Call("read", text="plain words", free=True)) == []


def test_refused_calls() -> None:
    """Undeclared or denied; a tool of a declared set is declared, and where more may be declared
    than was seen, nothing is."""
    assert faults(Call("drop")) == [("call-refused", "drop", "undeclared")]
    assert faults(Call("drop", group="files")) == []
    assert faults(Call("drop"), open=True) == []
    rules = (RefusalRule("r*", deny=True),)
    assert faults(Call("read"), rules=rules, open=True) == [("call-refused", "read", "denied")]


def test_declarations_that_cannot_be_read_ask_for_nothing() -> None:
    """No `tools`, or odd ones: every argument fits."""
    bare = Declared(frozenset({"a"}), None)
    assert list(judged([Call("a", value={"x": 1})], bare)) == []
    odd = Declared(frozenset({"a"}), read(b'{"tools": [1e999, {"name": "a"}]}').root.get("tools"))
    assert list(judged([Call("a", value={"x": 1})], odd)) == []


def test_a_bounded_number_of_calls_is_looked_at() -> None:
    """An answer full of calls is one answer."""
    calls = [Call(f"tool {number}") for number in range(MOST_CALLS * 2)]
    assert len(list(judged(calls, declared()))) == MOST_CALLS
