"""The proof's look at framed values as they are spelled: the client's bytes, and frames round them.

Part of the proof, and as independent: it shares no code with what makes frames. It must not know
what else may stand in a value. Mostly nothing is changed but that claimed frames stand round
texts, which are escaped as the client has it; then no value needs to be compared with another, and
all of a list is seen at once.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice

import msgspec
from msgspec import Struct

from policies import proof_json as own
from policies.decision import FrameRow

STEM = "transom_data"

_MARK = b"TRANSOM_DATA nonce="  # in both lines of every frame
_ENDS = b"\\n[[END_"  # stands before it in the last one
_SHAPE = re.compile(r"[0-9a-f]{32} [A-Za-z0-9_.:-]{1,48}")
_BEHIND = frozenset({b'",', b'"}', b'"]'})  # a value that is a string
_NEAR = re.compile(r"_(?=[dD][aA][tT][aA])(?<=[mM]_)")
"""What every spelling of the stem has; no other letters than these become them."""
_texts: Callable[[bytes], list[str]] = msgspec.json.Decoder(list[str]).decode


class Spelled(Struct, frozen=True):
    """Which `numbers` stand in frames. `places`: bytes of the client's value before each text of
    them; `grown`: by how many bytes the value has grown before it."""

    numbers: Sequence[int]
    places: Sequence[int]
    grown: Sequence[int]

    def before(self, place: int) -> tuple[int, int]:
        """How many frames stand before that byte of the client's value, and how many bytes that
        adds."""
        count = bisect_left(self.places, place)
        return count, self.grown[count]


def framed(
    came: bytes, sent: bytes, waiting: Iterable[tuple[int, FrameRow, str]]
) -> Spelled | None:
    """The units whose frames are all that `sent` has beside `came`: the next of those that wait,
    each with its row and its text. None where that cannot be seen so, or where a text has to be
    looked at more closely."""
    parts = sent.split(_MARK)
    found = [*islice(waiting, len(parts) // 2)]
    if not found or len(parts) != 2 * len(found) + 1:
        return None
    pieces: list[bytes] = []  # of what came: what stands outside of a frame, the text inside, …
    added: list[int] = []
    close = b""
    for (_, row, _), outer, inner in zip(found, parts[::2], parts[1::2], strict=False):
        before, behind = _around(row)
        size = len(behind) + len(_ENDS)
        if not (
            outer.startswith(close)
            and outer.endswith(before)
            # SECURITY: a quotation mark behind a backslash is one within a string.
            and not outer.endswith(b"\\" + before)
            and inner.startswith(behind)
            and inner.endswith(_ENDS)
            and len(inner) >= size
        ):
            return None
        # Quotation marks round a text belong to what is outside of it.
        pieces += (outer[len(close) : 1 - len(before)], inner[len(behind) : -len(_ENDS)])
        close = row.nonce.encode() + b"]]"
        added.append(len(before) - 1 + size + len(close) + 2 * len(_MARK))
    if not parts[-1].startswith(close):
        return None
    pieces.append(parts[-1][len(close) :])
    outside, inside = pieces[::2], pieces[1::2]
    if b"".join(pieces) != came or not _between(outside) or not _are(inside, found):
        return None
    places = [*accumulate(map(len, pieces))][: 2 * len(found) : 2]
    return Spelled([number for number, *_ in found], places, [*accumulate(added, initial=0)])


def _around(row: FrameRow) -> tuple[bytes, bytes]:
    """What stands before and behind the mark in the first line of a frame, as JSON."""
    nonce = row.nonce
    intro = (
        f"[Data envelope (code-owned)]: this message's nonce is {nonce}.\\n" if row.intro else ""
    )
    return f'"{intro}[['.encode(), f"{nonce} field={row.field}]]\\n".encode()


def _between(outside: Sequence[bytes]) -> bool:
    """Whether it is certain that strings which are values stand between the pieces of a value."""
    return (
        # SECURITY: what stands behind a string tells that it is no key.
        _BEHIND.issuperset([piece[:2] for piece in outside[1:]])
        # SECURITY: how a value is spelled tells what it says only where no key stands twice. And
        # that it is JSON with empty strings in their places tells that strings begin there.
        and own.is_certain(b"".join(outside))
    )


def _are(literals: Sequence[bytes], found: Sequence[tuple[int, FrameRow, str]]) -> bool:
    """Whether the `literals` spell the texts that were found, and their rows have them framed as
    they are, and well."""
    for _, row, text in found:
        if (
            row.kept is not None
            or row.encode != "raw"
            or not _SHAPE.fullmatch(f"{row.nonce} {row.field}")
            # SECURITY: a text that knows a mark may end its frame itself.
            or row.nonce in text
        ):
            return False
    texts = [text for *_, text in found]
    try:
        # No string goes on over the end of a line: so many as there are literals are these.
        if _texts(b'["' + b'",\n"'.join(literals) + b'"]') != texts:
            return False
    except msgspec.MsgspecError:
        return False
    together = "\n".join(texts)
    # SECURITY: and so may one that spells the stem.
    return _NEAR.search(together) is None or STEM not in together.casefold()
