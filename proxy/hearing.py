"""What calls in an answer say: refused ones, and ones whose arguments their tool cannot take.

Owns the joining of an answer's calls with what the request declared. It must not know how an answer
is read, nor what becomes of an event.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
from msgspec import Struct

from policies.arguments import fits
from policies.kinds import REFUSED_CALL
from policies.refused_calls import refused_call
from policies.settings import RefusalRule
from proxy.dialects.calls import Call, schemas
from proxy.lazyjson import Node

MOST_CALLS = 64
"""Calls of one answer that are looked at."""

BROKEN = object()
"""Arguments that are no JSON."""


class Declared(Struct, frozen=True, eq=False):
    """What a request declared: names of `tools`, and the value that declares them, to be parsed
    where a call asks for it. `open`: more tools may be declared where nobody here has looked."""

    tools: frozenset[str]
    node: Node | None
    rules: Sequence[RefusalRule] = ()
    open: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """Something about a call: the kind of the event, the name as it was called, and why."""

    kind: str
    tool: str
    why: str


def judged(calls: Sequence[Call], declared: Declared) -> Iterator[Fault]:
    """The faults of the calls of one answer, each once."""
    if not calls:
        return
    seen: set[Fault] = set()
    known: dict[str, object] | None = None
    for call in calls[:MOST_CALLS]:
        faults = []
        why = refused_call(call.name, declared.tools, declared.rules)
        theirs = why == "undeclared" and (declared.open or call.group in declared.tools)
        if why and not theirs:
            faults.append(Fault(REFUSED_CALL, call.name, why))
        elif not call.free:
            known = _schemas(declared.node) if known is None else known
            if wrong := _wrong(call, known):
                faults.append(Fault("arguments-invalid", call.name, wrong))
        for fault in faults:
            if fault not in seen:
                seen.add(fault)
                yield fault


def _wrong(call: Call, known: dict[str, object]) -> str:
    value = call.value if call.text is None else _parsed(call.text)
    if value is BROKEN:
        return "no JSON"
    if value is None:  # no arguments at all, as some models call a tool without any
        value = {}
    if not isinstance(value, dict):
        return "no object"
    return "" if fits(known.get(call.name, True), value) else "not as declared"


def _parsed(text: str) -> object:
    if not text.strip():
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return BROKEN


def _schemas(node: Node | None) -> dict[str, object]:
    if node is None:
        return {}
    try:
        return schemas(msgspec.json.decode(node.raw))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return {}
