"""What of a conversation leaves for a cloud model, and what of it has to read the same for a turn.

Owns the shapes: how wide the view of a turn is (`Window`), and what is taken out for it (`Cut`). It
must not know how either is found, nor a dialect.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from policies.authored import HOME_LEFT_OUT, RESULT_LEFT_OUT
from policies.conversation import Address, Form

VALUES: Final[Mapping[Form, object]] = MappingProxyType(
    {Form.OBJECT: {}, Form.JSON: "{}", Form.EMPTY: "", Form.RESULT: RESULT_LEFT_OUT}
)

LEFT_AT_HOME: Final[Mapping[str, str]] = MappingProxyType(
    {"role": "assistant", "content": HOME_LEFT_OUT}
)
"""The message that stands in place of one that was given at home; every dialect knows it."""


@dataclass(frozen=True, slots=True)
class Window:
    """How much the requests of one turn show; fixed by the first of them. `mode` and `strategy` are
    those of `settings.Minimality`; with the strategy `home` it is all or nothing. `turns`: so many
    earlier turns are heard at most, None for all; `notice`: what the model is told about it, empty
    for nothing; `anew`: the view began anew within the turn, as what was thought in it belongs to
    another view."""

    mode: str
    strategy: str = "drop"
    turns: int | None = None
    notice: str = field(default="", repr=False)
    anew: bool = False


OPEN: Final = Window("off")
"""The window of a turn that shows everything."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What is taken out. `turn`: the message at which the current turn starts; from there on all
    stays. `gone`: messages that do not leave. `trimmed`: message → ways to what is left out of it.
    `emptied`: message → ways to what is exchanged, each with what for. `at`: the message before
    which the notice stands, or `inside` of which it is the first part. `digests`: message → the one
    of what is left of it. `home`: messages in place of which `LEFT_AT_HOME` stands. `names`: tools
    whose results do not leave, all of them, as they are called."""

    window: Window
    turn: int = 0
    gone: frozenset[int] = frozenset()
    trimmed: Mapping[int, tuple[Address, ...]] = field(default_factory=dict)
    emptied: Mapping[int, tuple[tuple[Address, Form], ...]] = field(default_factory=dict)
    digests: Mapping[int, bytes] = field(default_factory=dict, repr=False)
    at: int = 0
    inside: bool = False
    home: frozenset[int] = frozenset()
    names: tuple[str, ...] = field(default=(), repr=False, compare=False)

    @property
    def cuts(self) -> bool:
        """Whether anything is taken out."""
        return bool(self.gone or self.trimmed or self.emptied or self.home)

    def ways(self, message: int) -> tuple[Address, ...]:
        """The ways to all that does not leave of a message that stays."""
        emptied = tuple(way for way, _ in self.emptied.get(message, ()))
        return (*self.trimmed.get(message, ()), *emptied)


@lru_cache(maxsize=512)
def dumped(window: Window) -> str:
    """`window` as text."""
    return json.dumps(asdict(window), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=512)
def loaded(text: str) -> Window:
    """The window that `dumped` wrote. Raises `ValueError` for anything else."""
    try:
        window = Window(**json.loads(text))
    except TypeError as error:
        raise ValueError("this is no window of a turn") from error
    if window.mode not in ("strict", "dialogue", "off"):
        raise ValueError("this is no window of a turn")
    return window
