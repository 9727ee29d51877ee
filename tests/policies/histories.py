"""Conversations written as a line of letters, with what may be cut out of each message.

`s` leading system text, `u` words of the user, `i` a picture alone, `a` words of the model, `c` a
call beside words, `C` a call alone, `r` its result, `m` a result beside words, `t` thinking beside
words, `g` a message that grants tools, `b` one that may stand only between user and model.
"""

import hashlib
from functools import partial

from policies.conversation import (
    Address,
    Conversation,
    Form,
    Half,
    Message,
    Origin,
    Piece,
    Run,
    Strand,
    ToolCall,
    Unit,
)

WORDS: Address = ("content", 0)
OTHER: Address = ("content", 1)
ROLES = {"s": "system", "u": "user", "i": "user", "r": "user", "m": "user"}
ROLES |= {"g": "developer", "b": "system"}


def history(
    letters: str, *, tools: tuple[str, ...] = ("read",), calls: tuple[str, ...] = ()
) -> Conversation:
    """The conversation; each call is one of `calls` in turn, of `read` where there are none."""
    messages = []
    units = []
    names = [*calls]
    number = 0
    for index, letter in enumerate(letters):
        name = ""
        if letter in "cC":
            number += 1
            name = names.pop(0) if names else "read"
        messages.append(_message(letter, index, f"call-{number}", name))
        if letter in "rm":
            units.append(_unit(index, f"call-{number}", messages))
    start = next((m.index for m in messages if m.role not in ("system", "developer")), len(letters))
    runs = _runs(letters, start)
    turn = next((r.start for r in reversed(runs) if r.has_user and not r.answers_call), start)
    pieces = tuple(_piece(m, letters[m.index]) for m in messages)
    return Conversation(
        "a dialect", "m", False, tuple(messages), runs, turn, tuple(units), tools, pieces
    )


def _message(letter: str, index: int, call: str, name: str) -> Message:
    role = ROLES.get(letter, "assistant")
    spoken = role == "assistant"
    words = letter in "uactm"
    other = {"c": OTHER, "m": OTHER, "t": OTHER, "C": WORDS, "r": WORDS, "i": WORDS}.get(letter)
    half = ()
    if other is not None and letter in "cCrm":
        made = letter in "cC"
        field = "input" if made else "content"
        form = Form.OBJECT if made else Form.RESULT
        half = (Half(call, name, other, other, (*other, field), form),)
    return Message(
        index,
        ("messages", index),
        role,
        Origin.AGENT if spoken else Origin.OPERATOR,
        hashlib.sha256(f"{index}{letter}".encode()).digest(),
        (ToolCall(call, name),) if letter in "cC" else (),
        (call,) if letter in "rm" else (),
        sealed=letter == "t",
        texts=(WORDS,) if words else (),
        beside=(other,) if other is not None else (),
        halves=half,
        grants=letter in "gb",
        between=letter == "b",
    )


def _unit(index: int, call: str, messages: list[Message]) -> Unit:
    names = {c.id: c.name for m in messages for c in m.calls}
    place = messages[index].halves[0].way
    address = ("messages", index, *place, "content")
    return Unit(
        address,
        f"found {index}",
        f"tool:{names.get(call, '')}",
        names.get(call, ""),
        call,
        0,
        index,
        True,
    )


def _runs(letters: str, start: int) -> tuple[Run, ...]:
    runs, begin = [], -1
    for index in range(start, len(letters) + 1):
        spoken = index == len(letters) or letters[index] in "acCt"
        if not spoken and begin < 0:
            begin = index
        elif spoken and begin >= 0:
            part = letters[begin:index]
            runs.append(
                Run(begin, index, bool(set(part) & set("rm")), bool(set(part) & set("uirm")))
            )
            begin = -1
    return tuple(runs)


def _piece(message: Message, letter: str) -> Piece:
    base = message.address
    strands = [Strand((*base, *way, "text"), f"words {message.index}") for way in message.texts]
    strands += [Strand((*base, *way, "data"), f"other {message.index}") for way in message.beside]
    return Piece(base, message.digest, partial(tuple, strands), 400)
