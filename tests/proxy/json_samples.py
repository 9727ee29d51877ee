"""JSON texts as clients may write them, with a model that knows where every byte came from.

A model is a raw scalar, an `Arr` of models or an `Obj` of keys and models; white space is drawn
with it, so that `text` is the exact body that the code under test must take apart.
"""

import json
from dataclasses import dataclass

from hypothesis import strategies as st

KEYS = ("a", "b", "content", "messages", "ä", 'q"q', "back\\slash", "", "x y", "tab\t", "😀")
NUMBERS = (b"1e5", b"-0", b"123456789012345678901234567890", b"1E400", b"0.10", b"-1.5E-7", b"7")
STRINGS = (
    b'""',
    b'"plain"',
    b'"\\u00e9\\/"',
    b'"[{\\"a\\": 1}, \\\\"',
    b'"\\\\\\""',
    '"é😀"'.encode(),
)
SCALARS = (*NUMBERS, *STRINGS, b"true", b"false", b"null", b'"\\ud83d\\ude00"')


@dataclass(frozen=True)
class Arr:
    """Items with the white space that stands before and after each, and in an empty list."""

    items: tuple
    gap: bytes

    def text(self) -> bytes:
        inner = b",".join(self.gap + text(item) + self.gap for item in self.items)
        return b"[" + (inner or self.gap) + b"]"


@dataclass(frozen=True)
class Obj:
    """Members as (key, key literal, value), and the white space round keys and values."""

    members: tuple
    gap: bytes

    def text(self) -> bytes:
        gap = self.gap
        inner = b",".join(
            gap + literal + gap + b":" + gap + text(value) + gap
            for _, literal, value in self.members
        )
        return b"{" + (inner or gap) + b"}"


def text(model) -> bytes:
    return model if isinstance(model, bytes) else model.text()


gaps = st.sampled_from([b"", b"", b" ", b"\n  ", b"\t\r\n"])


@st.composite
def members(draw, values):
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=4, unique=True))
    return tuple(
        (key, json.dumps(key, ensure_ascii=draw(st.booleans())).encode(), draw(values))
        for key in keys
    )


def containers(values):
    return st.one_of(
        st.builds(Arr, st.lists(values, max_size=4).map(tuple), gaps),
        st.builds(Obj, members(values), gaps),
    )


models = st.recursive(st.sampled_from(SCALARS), containers, max_leaves=12)
bodies = st.builds(Obj, members(models), gaps)


def walk(model, address=()):
    """Every value below and including `model`, with the way to it."""
    yield address, model
    if isinstance(model, Arr):
        for index, item in enumerate(model.items):
            yield from walk(item, (*address, index))
    elif isinstance(model, Obj):
        for key, _, value in model.members:
            yield from walk(value, (*address, key))


def shape(model):
    """The model without white space: raw scalars, lists, lists of (key, value) in order."""
    if isinstance(model, Arr):
        return [shape(item) for item in model.items]
    if isinstance(model, Obj):
        return {key: shape(value) for key, _, value in model.members}
    return model
