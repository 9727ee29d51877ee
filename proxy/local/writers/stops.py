"""Where an answer meets a string at which the client wanted it to stop.

Owns finding that in text that comes piece by piece. It must not know a dialect. A server that stops
by itself leaves the string out and does not say which it was; others leave it in, or go on.
"""

from collections.abc import Iterable
from typing import Final

_MOST: Final = 64
"""Strings that are looked for; no API takes more than a few."""


class Stops:
    """For one answer. `found`: the string that it stopped at, empty until then."""

    def __init__(self, strings: Iterable[str]) -> None:
        self._strings = [text for text in strings if text][:_MOST]
        self._held = ""
        self.found = ""

    def feed(self, text: str) -> str:
        """What may be said of `text` and of what was held, as it may have begun a string."""
        text, self._held = self._held + text, ""
        if not self._strings:
            return text
        hits = [(text.index(string), string) for string in self._strings if string in text]
        if hits:
            at, self.found = min(hits)
            return text[:at]
        return self._hold(text)

    def rest(self) -> str:
        """What was held after all: the text ends here."""
        rest, self._held = self._held, ""
        return rest

    def _hold(self, text: str) -> str:
        most = min(max(map(len, self._strings)) - 1, len(text))
        for count in range(most, 0, -1):
            if any(string.startswith(text[-count:]) for string in self._strings):
                self._held = text[-count:]
                return text[:-count]
        return text
