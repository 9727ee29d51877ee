"""Texts that go across the ends of strings: of the parts of one piece, and of two messages.

Owns what counts as a part, and how much of it may belong to what stands beside it. It must not
know what is looked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from policies.conversation import Piece, Strand, Texts
from policies.screening.exempt import SKIPPED, is_content
from policies.screening.mending import BETWEEN_PARTS

SEAM = 1024
"""Characters on each side of a seam that may be halves of one secret."""
WORDS_SEAM = 640
"""The same for a seed, whose words and what stands between them are short."""
ROW = 16
"""Numbers in a row that may be bytes."""
SHORTEST = 8
"""Characters below which nothing is a secret."""


def sort_out(strands: Iterable[Strand]) -> Texts:
    """Each string of a piece where it belongs."""
    sorted_out = Texts([], [], [])
    for strand in strands:
        if strand.is_key:
            sorted_out.keys.append(strand.text)
        elif is_content(strand):
            sorted_out.contents.append(strand.text)
        else:
            sorted_out.others.append(strand.text)
    return sorted_out


def sort_value(value: object, step: str | int, into: Texts) -> bool:
    """The same for what stands in a parsed `value`, to which `step` leads: put `into` the texts of
    its piece. Whether a list in it has `ROW` items or more."""
    long = False
    if isinstance(value, dict):
        for key, member in value.items():
            into.keys.append(key)
            if type(member) is not str:
                long |= sort_value(member, key, into)
            elif key in SKIPPED:
                into.others.append(member)
            else:
                into.contents.append(member)
    elif isinstance(value, list):
        long = len(value) >= ROW
        for index, item in enumerate(value):
            long |= sort_value(item, index, into)
    elif isinstance(value, str):
        (into.others if step in SKIPPED else into.contents).append(value)
    return long


class Strings:
    """The decoded strings of one piece: sorted, and as strands for who asks where they stand."""

    __slots__ = ("_made", "_strands", "texts")

    def __init__(self, texts: Texts, strands: Callable[[], Sequence[Strand]]) -> None:
        self.texts = texts
        self._strands = strands
        self._made: Sequence[Strand] | None = None

    @classmethod
    def of(cls, piece: Piece) -> "Strings":
        """Those of `piece`. Raises as its `strands` does."""
        return (
            cls.made(piece.strands()) if piece.texts is None else cls(piece.texts(), piece.strands)
        )

    @classmethod
    def last_of(cls, piece: Piece) -> "Strings":
        """Those of `piece` as far as what follows it may go on with them, if they are known. Raises
        as its `strands` does."""
        if piece.ending is None:
            return cls.of(piece)
        return cls(Texts(piece.ending(), [], []), piece.strands)

    @classmethod
    def made(cls, strands: Sequence[Strand]) -> "Strings":
        """Those of strands that are there already."""
        return cls(sort_out(strands), lambda: strands)

    @property
    def strands(self) -> Sequence[Strand]:
        """All of them in order, as `Piece.strands` gives them."""
        if self._made is None:
            self._made = self._strands()
        return self._made

    @property
    def all(self) -> Iterator[str]:
        """All of them, sorted."""
        return chain.from_iterable(self.texts)


def contents(strands: Iterable[Strand]) -> list[str]:
    """The texts of which one secret may have several."""
    return [strand.text for strand in strands if is_content(strand)]


def ending(parts: Sequence[str], size: int = SEAM) -> list[str]:
    """The last `size` characters of the parts."""
    last = enough(reversed(parts), size)[::-1]
    if last:
        last[0] = last[0][-size:]
    return last


def outer(parts: Sequence[str], size: int, *, start: bool) -> list[str]:
    """The last `size` characters of the parts, behind the first ones if something else meets their
    `start`."""
    # SECURITY: what is so short that one secret may go across all of it stands there as it is.
    if start and sum(map(len, parts)) <= 2 * size:
        return [*parts]
    first = [text[:size] for text in enough(parts, size)] if start else []
    return [*first, *ending(parts, size)]


def halves(text: str, size: int) -> str:
    """A text, or where it is long its two ends, which nothing holds together."""
    return text if len(text) <= 2 * size else f"{text[:size]}\n\0\n{text[-size:]}"


def crossing(parts: Iterable[str], size: int) -> tuple[str, str]:
    """Texts as one, and as one with marks between them; of long ones `size` characters at each
    end."""
    ends = [halves(part, size) for part in parts]
    return "".join(ends), BETWEEN_PARTS.join(ends)


def where_met(parts: Sequence[str], size: int) -> str:
    """Texts as one, without most of what is further than `size` characters from where two of them
    meet."""
    if len(parts) < 2:
        return ""
    between = [halves(part, size) for part in parts[1:-1]]
    return "".join((parts[0][-size:], *between, parts[-1][:size]))


def spaced(parts: Iterable[str]) -> str:
    """Texts as one with blanks for words."""
    return " ".join(halves(part, WORDS_SEAM) for part in parts)


class Meeting(NamedTuple):
    """Two messages where they meet: `ending`, the last texts of the one, these as one (`left`), and
    the start of the other (`right`)."""

    ending: list[str]
    left: str
    right: str
    size: int

    @property
    def crossing(self) -> tuple[str, str]:
        """Both as one, and with marks between the parts."""
        marked = BETWEEN_PARTS.join((*self.ending, self.right))
        return self.left + self.right, marked[-2 * self.size :]

    @property
    def words(self) -> str:
        """The end of the one with blanks between its parts."""
        return " ".join(self.ending)[-WORDS_SEAM:]


def meeting(before: Sequence[str], after: Sequence[str], size: int = SEAM) -> Meeting:
    """What meets where the texts of one message follow those of another, `size` characters of
    each."""
    last = enough(reversed(before), size)[::-1]
    return Meeting(last, "".join(last)[-size:], "".join(enough(after, size))[:size], size)


def enough(texts: Iterable[str], size: int) -> list[str]:
    """As many of the texts as `size` characters need."""
    found: list[str] = []
    room = size
    for text in texts:
        if room <= 0:
            break
        found.append(text)
        room -= len(text)
    return found
