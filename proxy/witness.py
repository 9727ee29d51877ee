"""What is seen in an answer while it goes by: the calls in it, and marks of frames.

Owns reading a copy of the answer (`proxy.copies`) as far as that takes. It must not know what is
made of it, and it changes nothing. Streams are read line by line, as every vendor writes them: one
JSON value in each; only lines that have to do with a call are parsed.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec
from msgspec import Struct

from policies.envelope.markers import STEM
from proxy.dialects.calls import MARKS, Call, calls_of
from proxy.dialects.streams import Kind

WHOLE: Final = 2 * 1024 * 1024
"""Longest answer, and longest line of a stream, that is read, in bytes."""

_STEM: Final = STEM.encode("ascii")
# The words of a model come a few letters at a time: what it says is joined before it is searched.
_SAID: Final = re.compile(
    rb'"(?:text|content|thinking|partial_json|delta|arguments|input|response|reasoning_content)"'
    rb'[ ]?:[ ]?"((?:[^"\\]|\\.)*)"'
)
# Within what is said, the M of a stem stands behind its O or where a text begins, and before its _
# or where a text ends. Few events have such a one.
_NEAR: Final = re.compile(rb'M(?<=[O"]M)[_"]')
_BEGUN: Final = tuple(_STEM[:end] for end in range(_STEM.index(b"M") + 1, len(_STEM)))
_BEFORE: Final = len(_STEM) - 1
_UNREAD: Final = 16 * 1024  # bytes of a stream that are kept until their last words matter
_REACH: Final = 512  # bytes in which those words are looked for first

_CALLS: Final = (
    *(b"tool_use", b"tool_call", b"function_call"),
    *(b"shell_call", b"apply_patch_call", b"computer_call"),
)


class Heard(Struct, frozen=True):
    """`calls` that the answer makes. `leaks`: it repeats the mark of a frame. `whole`: all of it
    was read."""

    calls: tuple[Call, ...]
    leaks: bool
    whole: bool


class Witness:
    """An observer of one answer in `dialect`; `told` is called once, at its end."""

    prompt = False

    def __init__(self, dialect: str, stream: Kind, told: Callable[[Heard], None]) -> None:
        self._calls = calls_of(dialect)
        self._marks = MARKS.get(dialect, ())
        self._words = _Words() if stream else None
        self._stream = stream
        self._told = told
        self._rest: list[bytes] = []
        self._held = 0
        self._leaks = False
        self._whole = True

    def chunk(self, data: bytes) -> None:
        """The next bytes of the answer."""
        if self._words is None:
            self._hold(data)
            return
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._hold(data)
            return
        if cut == len(data) and not self._held:  # whole lines, as events mostly come
            self._lines(data)
            return
        lines = b"".join([*self._rest, data[:cut]])
        self._rest, self._held = [], 0
        self._hold(data[cut:])
        self._lines(lines)

    def end(self) -> None:
        """No more will come."""
        rest = b"".join(self._rest)
        self._rest = []
        if self._stream:
            self._lines(rest)
        elif rest:
            self._leaks = _STEM in rest
            if self._calls is not None and any(map(rest.__contains__, _CALLS)):
                self._parse(rest)
        calls = () if self._calls is None else tuple(self._calls.found)
        self._told(Heard(calls, self._leaks, self._whole))

    def _hold(self, data: bytes) -> None:
        self._held += len(data)
        if self._held > WHOLE:
            self._rest, self._whole = [], False
        elif data:
            self._rest.append(data)

    def _lines(self, lines: bytes) -> None:
        self._leaks = self._leaks or (self._words is not None and self._words.leak(lines))
        if self._calls is None or not self._has_call(lines):
            return
        for line in lines.splitlines():
            if self._has_call(line):
                self._parse(line.removeprefix(b"data:"))

    def _has_call(self, lines: bytes) -> bool:
        # For every event: the words one after the other take a tenth of a pattern for all.
        return any(map(lines.__contains__, self._marks))

    def _parse(self, text: bytes) -> None:
        assert self._calls is not None, "asked for where there are none"
        try:
            self._calls.feed(msgspec.json.decode(text))
        except (msgspec.DecodeError, ValueError, RecursionError):
            self._whole = False


class _Words:
    """What a model says in a stream, as far as that takes to see the mark of a frame in it."""

    __slots__ = ("_tail", "_unread", "_waiting")

    def __init__(self) -> None:
        self._tail = b""  # the last words before what is unread
        self._unread: list[bytes] = []
        self._waiting = 0

    def leak(self, lines: bytes) -> bool:
        """Whether these words complete the mark of a frame. Whole lines, one call after the
        other; no more once there was one."""
        if self._tail.endswith(_BEGUN) or _NEAR.search(lines):
            said = self._last() + b"".join(_SAID.findall(lines))
            self._tail = said[-_BEFORE:]
            return _STEM in said
        self._unread.append(lines)
        self._waiting += len(lines)
        if self._waiting > _UNREAD:
            self._tail = self._last()
        return False

    def _last(self) -> bytes:
        """The last words so far, of which a mark may be going on; nothing is unread then."""
        words = b""
        while self._unread and len(words) < _BEFORE:
            words = _last_of(self._unread.pop()) + words
        if len(words) < _BEFORE:
            words = self._tail + words
        self._unread.clear()
        self._waiting = 0
        return words[-_BEFORE:]


def _last_of(lines: bytes) -> bytes:
    """The last words in `lines`: as many as a mark may begin with, or all of them."""
    reach = _REACH
    while True:
        start = lines.rfind(b"\n", 0, max(0, len(lines) - reach)) + 1
        words = b"".join(_SAID.findall(lines, start))
        if not start or len(words) >= _BEFORE:
            return words
        reach *= 4
