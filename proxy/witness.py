"""What is seen in an answer while it goes by: the calls in it, and marks of frames.

Owns reading a copy of the answer (`proxy.copies`) as far as that takes. It must not know what is
made of it, and it changes nothing. Streams are read line by line, as every vendor writes them: one
JSON value in each; only lines that have to do with a call are parsed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

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

_CALLS: Final = (
    *(b"tool_use", b"tool_call", b"function_call"),
    *(b"shell_call", b"apply_patch_call", b"computer_call"),
)
_MARKED: Final = {name: re.compile(b"|".join(map(re.escape, each))) for name, each in MARKS.items()}


@dataclass(frozen=True, slots=True)
class Heard:
    """`calls` that the answer makes. `leaks`: it repeats the mark of a frame. `whole`: all of it
    was read."""

    calls: tuple[Call, ...]
    leaks: bool
    whole: bool


class Witness:
    """An observer of one answer in `dialect`; `told` is called once, at its end."""

    def __init__(self, dialect: str, stream: Kind, told: Callable[[Heard], None]) -> None:
        self._calls = calls_of(dialect)
        self._marked = _MARKED.get(dialect)
        self._stream = stream
        self._told = told
        self._rest: list[bytes] = []
        self._held = 0
        self._tail = b""
        self._leaks = False
        self._whole = True

    def chunk(self, data: bytes) -> None:
        """The next bytes of the answer."""
        if not self._stream:
            self._hold(data)
            return
        cut = data.rfind(b"\n") + 1
        if not cut:
            self._hold(data)
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
            if self._calls is not None and any(word in rest for word in _CALLS):
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
        if not self._leaks:
            said = self._tail + b"".join(_SAID.findall(lines))
            self._leaks = _STEM in said
            self._tail = said[1 - len(_STEM) :]
        if self._calls is None or self._marked is None or not self._marked.search(lines):
            return
        for line in lines.splitlines():
            if self._marked.search(line):
                self._parse(line.removeprefix(b"data:"))

    def _parse(self, text: bytes) -> None:
        assert self._calls is not None, "asked for where there are none"
        try:
            self._calls.feed(msgspec.json.decode(text))
        except (msgspec.DecodeError, ValueError, RecursionError):
            self._whole = False
