"""On which line of a TOML text each value stands.

Owns a scanner for texts that a TOML parser has already accepted: it finds places and reads no
values. It must not know a setting.
"""

import re
import tomllib
from bisect import bisect_right
from typing import Final

Path = tuple[str | int, ...]
"""Way to a value: keys, and indices into arrays, outermost first."""

_BLANK: Final = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_BARE_VALUE: Final = re.compile(r"[^,\]}\n#]+")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"""+'
    r"|'''.*?'''+"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)


def find_lines(text: str) -> dict[Path, int]:
    """Line number, from 1, of every table, key, array element and header in `text`.

    `text` must be valid TOML. A value that is named more than once (a table that is opened by
    dotted keys) has the line where it is named first.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._ends = [mark.start() for mark in re.finditer("\n", text)]
        self._elements: dict[Path, int] = {}

    def document(self) -> None:
        header: Path = ()
        self._skip()
        while self.at < len(self.text):
            if self.text.startswith("[[", self.at):
                header = self._header(2)
            elif self.text[self.at] == "[":
                header = self._header(1)
            else:
                self._member(header)
            self._skip()

    def _header(self, brackets: int) -> Path:
        line = self._line()
        self.at += brackets
        self._skip()
        *outer, last = self._key()
        path: Path = ()
        for name in outer:
            path = self._opened((*path, name), line)
        path = (*path, last)
        if brackets == 2:
            self.lines.setdefault(path, line)
            self._elements[path] = self._elements.get(path, -1) + 1
        self._skip()
        self.at += brackets
        return self._opened(path, line)

    def _opened(self, path: Path, line: int) -> Path:
        """`path`, or its newest element if it is an array of tables."""
        self.lines.setdefault(path, line)
        if path in self._elements:
            path = (*path, self._elements[path])
            self.lines.setdefault(path, line)
        return path

    def _member(self, table: Path) -> None:
        line = self._line()
        path = table
        for name in self._key():
            path = (*path, name)
            self.lines.setdefault(path, line)
        self._skip()
        self.at += 1
        self._skip()
        self._value(path)

    def _key(self) -> list[str]:
        names: list[str] = []
        while True:
            string = _STRING.match(self.text, self.at)
            if string:
                self.at = string.end()
                names.append(tomllib.loads(f"k = {string[0]}")["k"])
            else:
                names.append(self._take(_BARE_KEY))
            self._skip()
            if not self.text.startswith(".", self.at):
                return names
            self.at += 1
            self._skip()

    def _value(self, path: Path) -> None:
        string = _STRING.match(self.text, self.at)
        if string:
            self.at = string.end()
        elif self.text[self.at] == "[":
            self._array(path)
        elif self.text[self.at] == "{":
            self._inline_table(path)
        else:
            self._take(_BARE_VALUE)

    def _array(self, path: Path) -> None:
        self.at += 1
        self._skip()
        index = 0
        while self.text[self.at] != "]":
            element = (*path, index)
            self.lines.setdefault(element, self._line())
            self._value(element)
            self._comma()
            index += 1
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip()
        while self.text[self.at] != "}":
            self._member(path)
            self._comma()
        self.at += 1

    def _comma(self) -> None:
        self._skip()
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip()

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found is not None, "the text was accepted by the parser"
        self.at = found.end()
        return found[0]

    def _skip(self) -> None:
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _line(self) -> int:
        return bisect_right(self._ends, self.at - 1) + 1
