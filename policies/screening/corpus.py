"""A set of texts that are looked for as they are, however many: one answer, whether any is there.

Owns the structure of the search. It must not know whose texts they are. Few of them go to the
engine of the rules; building that takes minutes and gigabytes for many, so that of those the
beginnings alone are searched for, and what follows a beginning is compared.
"""

from collections.abc import Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import ahocorasick_rs

from policies.screening.engine import Engine, Pattern, build

FEW: Final = 4000
"""Texts up to which the engine is built in about half a second."""
BETWEEN: Final = b" \t\r\n\"'`,+\\"
"""What stands between the halves of a text that was broken over lines or put together by code."""
SQUEEZED: Final = BETWEEN + b"\0"
"""The same, and what stands between texts that are looked at together."""
_ODD: Final = 12
"""Characters from which on no ordinary words side by side make a text by chance; shorter ones need
a digit."""
_SHORTEST: Final = 8
_BEGINNING: Final = 6
_DIGITS: Final = b"0123456789"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts of eight bytes or more, compiled. Immutable; may be used from any number of threads."""

    _search: "_Few | _Many" = field(repr=False)
    longest: int
    """Bytes of the longest of them."""
    reach: int
    """The same for those that are not found in what is `SQUEEZED`; 0 if there is none."""

    @classmethod
    def of(cls, texts: Collection[bytes]) -> "Corpus | None":
        """None where there is nothing to look for."""
        wanted = {text for text in texts if len(text) >= _SHORTEST}
        wanted |= {bare for text in wanted if _is_odd(bare := text.translate(None, BETWEEN))}
        if not wanted:
            return None
        search = _Few.of(wanted) if len(wanted) <= FEW else _Many.of(wanted)
        apart = (len(text) for text in wanted if not _is_found_squeezed(text, wanted))
        return cls(search, max(map(len, wanted)), max(apart, default=0))

    def in_(self, data: bytes) -> bool:
        """Whether one of them stands in `data`, whole or with breaks in it."""
        if any(True for _ in self._search.found(data)):
            return True
        bare = data.translate(None, BETWEEN)
        return len(bare) < len(data) and any(map(_is_odd, self._search.found(bare)))

    def met(self, data: bytes, squeezed: bytes) -> bool:
        """Whether one may stand in one of the texts that `data` holds, or in several: all in which
        one stands, and more. `squeezed`: what is left of all texts without `SQUEEZED`."""
        if any(map(_is_odd, self._search.found(squeezed))):
            return True
        return self.reach > 0 and any(True for _ in self._search.found(data))


def _is_odd(text: bytes) -> bool:
    """Whether ordinary words that run together never spell it."""
    size = len(text)
    return size >= _ODD or (size >= _SHORTEST and len(text.translate(None, _DIGITS)) < size)


def _is_found_squeezed(text: bytes, wanted: Container[bytes]) -> bool:
    squeezed = text.translate(None, SQUEEZED)
    return squeezed in wanted and _is_odd(squeezed)


@dataclass(frozen=True, slots=True)
class _Few:
    texts: tuple[bytes, ...]
    engine: Engine

    @classmethod
    def of(cls, texts: Collection[bytes]) -> "_Few":
        ordered = tuple(texts)
        return cls(ordered, build([Pattern(text, once=True) for text in ordered]))

    def found(self, data: bytes) -> Iterator[bytes]:
        for number, _ in self.engine.anchors(data):
            yield self.texts[number]


@dataclass(frozen=True, slots=True)
class _Many:
    """`lengths`: the beginning of a text → how long texts are that begin so."""

    beginnings: ahocorasick_rs.BytesAhoCorasick
    lengths: Mapping[bytes, tuple[int, ...]]
    texts: Container[bytes]

    @classmethod
    def of(cls, texts: Collection[bytes]) -> "_Many":
        lengths: dict[bytes, tuple[int, ...]] = {}
        shared: dict[tuple[int, ...], tuple[int, ...]] = {}
        for text in texts:
            key, size = text[:_BEGINNING], len(text)
            known = lengths.get(key, ())
            if size not in known:
                more = (*known, size)
                lengths[key] = shared.setdefault(more, more)
        return cls(ahocorasick_rs.BytesAhoCorasick(list(lengths)), lengths, texts)

    def found(self, data: bytes) -> Iterator[bytes]:
        for _, at, end in self.beginnings.find_matches_as_indexes(data, overlapping=True):
            for length in self.lengths[data[at:end]]:
                text = data[at : at + length]
                if text in self.texts:
                    yield text
