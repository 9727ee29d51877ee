"""What the proof is told of a plan: thinking that was left out, words of the operator repeated.

Part of the proof, and as independent: it shares no code with what makes a plan, and looks itself
whether that is thinking, and who said those words. It must not know where in a body it is used.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct, field

from policies.conversation import Address
from policies.cut import Cut
from policies.decision import Placed

_THINKING = ("thinking", "redacted_thinking", "reasoning")
_DETAILS = "reasoning_details"
_LABEL = "[operator] "
_MOST = 600
_PARTS = ("text", "input_text")

CHOICES: Mapping[str, str] = MappingProxyType(
    {"tools": "tool_choice", "functions": "function_call"}
)
"""Member that declares tools → member that says whether they may be called."""

TOOLS = "tools"
"""The member that is left out where there is no such member."""


class Planned(Struct, frozen=True):
    """`removed`: ways to values of the client's body that are left out. `placed`: texts that stand
    behind one of its messages. `tool_use`: the model may call tools; where not, the body says so in
    the dialect's way. `cut`: what of earlier turns is left out of the list `key`; None where all is
    shown. `home`: messages of that list that were given at home. `by_message`: `removed`, sorted
    out."""

    removed: frozenset[Address] = frozenset()
    placed: tuple[Placed, ...] = ()
    tool_use: bool = True
    cut: Cut | None = None
    key: str = ""
    home: frozenset[int] = frozenset()
    by_message: dict[tuple[str | int, ...], list[Address]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for way in self.removed:
            self.by_message.setdefault(way[:2], []).append(way[2:])

    def ways(self, key: str, index: int) -> list[Address]:
        """The ways, from that message down, to what is left out; an empty one for all of it."""
        return sorted(self.by_message.get((key, index), ()), key=repr) if self.removed else []

    def behind(self, index: int) -> Sequence[Placed]:
        """The texts behind that message."""
        return [placed for placed in self.placed if placed.after == index]


def forbids(value: object) -> bool:
    """Whether a choice says that no tool may be called, and nothing else."""
    return value in ("none", {"type": "none"})


def is_thinking(value: object) -> bool:
    """An item or block that holds thinking and nothing else."""
    return isinstance(value, dict) and value.get("type") in _THINKING


def without(message: object, ways: Sequence[Address]) -> object:
    """`message` without the thinking that `ways` lead to. `ValueError`: one of them leads nowhere,
    or to something else."""
    if isinstance(message, dict):
        if [*ways] == [(_DETAILS,)] and isinstance(message.get(_DETAILS), list):
            return {key: value for key, value in message.items() if key != _DETAILS}
        blocks = message.get("content")
        gone = {way[1] for way in ways if len(way) == 2 and way[0] == "content"}
        if isinstance(blocks, list) and len(gone) == len(ways):
            thinking = {n for n, block in enumerate(blocks) if n in gone and is_thinking(block)}
            # SECURITY: a plan that leaves out a text or a call is a bug of ours.
            if thinking == gone:
                kept = [block for n, block in enumerate(blocks) if n not in gone]
                return {key: kept if key == "content" else message[key] for key in message}
    raise ValueError("something else than thinking is left out")


def says(value: object, text: str) -> bool:
    """`value` is a message of the user that says `text` and nothing else."""
    match value:
        case {"role": "user", "content": str(said), **rest}:
            return said == text and not rest
        case {"type": "message", "role": "user", "content": [part], **rest}:
            return part == {"type": "input_text", "text": text} and not rest
        case _:
            return False


def repeats(text: str, message: object, way: Address) -> bool:
    """`text` is labelled, short enough, and repeats the beginning of the words to which `way` leads
    in `message`, which a user said."""
    if not isinstance(message, Mapping) or str(message.get("role")).lower() != "user":
        return False
    content = message.get("content")
    match way:
        case ("content",):
            said = content
        case ("content", int(index), "text") if isinstance(content, list):
            part = content[index] if index < len(content) else None
            said = part.get("text") if isinstance(part, dict) and _is_text(part) else None
        case _:
            return False
    words = text.removeprefix(_LABEL)
    # SECURITY: only the words of this very body were screened.
    return (
        isinstance(said, str)
        and words != text
        and len(text) <= _MOST
        and said.startswith((words, words.removesuffix("…")))
    )


def _is_text(part: Mapping[str, object]) -> bool:
    return part.get("type") in _PARTS
