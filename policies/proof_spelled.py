"""The proof's look at framed values as they are spelled: the client's bytes, and frames round them.

Part of the proof, and as independent: it shares no code with what makes frames. It must not know
what else may stand in a value. Mostly nothing is changed but that claimed frames stand round
texts, which are escaped as the client has it; then no value needs to be compared with another, and
all of a list is seen at once.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import Struct

from policies import proof_json as own
from policies.decision import FrameRow

STEM = "transom_data"

_AHEAD = 2048
_SHAPE = re.compile(r"[0-9a-f]{32} [A-Za-z0-9_.:-]{1,48}")
_BEHIND = frozenset({b'",', b'"}', b'"]'})  # a value that is a string
_NEAR = re.compile(r"_(?=[dD][aA][tT][aA\u1e9a])(?<=[mM]_)")
"""What every spelling of the stem has; no other letters than these become them, or begin with one
and have more behind it."""
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
    found: list[tuple[int, FrameRow, str]] = []
    outside: list[bytes] = []  # with the quotation marks round the texts
    literals: list[bytes] = []
    places, grown = list[int](), [0]
    at = behind = 0
    for number, row, text in waiting:
        head, tail = _marks(row)
        if (start := _find(sent, b'"' + head, behind)) < 0:
            break
        inside = start + 1 + len(head)
        # No text takes less as JSON than by itself.
        if (stop := _find(sent, tail + b'"', inside + len(text))) < 0:
            return None
        place = at + start + 1 - behind
        outer, literal = came[at:place], came[place : place + stop - inside]
        if not (sent.startswith(outer, behind) and sent.startswith(literal, inside)):
            return None
        at, behind = place + stop - inside, stop + len(tail)
        outside.append(outer)
        literals.append(literal)
        places.append(place)
        grown.append(grown[-1] + len(head) + len(tail))
        found.append((number, row, text))
    outside.append(came[at:])
    if not found or len(came) - at != len(sent) - behind or not sent.endswith(outside[-1]):
        return None
    if not _between(outside) or not _are(literals, found):
        return None
    return Spelled([number for number, *_ in found], places, grown)


def _find(sent: bytes, mark: bytes, at: int) -> int:
    """Where the next such mark stands; -1 where there is none."""
    # Mostly it is near, and a look far ahead takes long to begin.
    near = sent.find(mark, at, at + _AHEAD)
    return near if near >= 0 else sent.find(mark, at)


def _marks(row: FrameRow) -> tuple[bytes, bytes]:
    """What stands before and behind the text in a frame that cuts nothing off, as JSON and without
    the quotation marks."""
    nonce = row.nonce
    intro = (
        f"[Data envelope (code-owned)]: this message's nonce is {nonce}.\\n" if row.intro else ""
    )
    head = f"{intro}[[TRANSOM_DATA nonce={nonce} field={row.field}]]\\n"
    return head.encode(), f"\\n[[END_TRANSOM_DATA nonce={nonce}]]".encode()


def _between(outside: Sequence[bytes]) -> bool:
    """Whether it is certain that strings which are values stand between the pieces of a value, in
    the quotation marks at their ends."""
    return (
        # SECURITY: what stands behind a string tells that it is no key.
        _BEHIND.issuperset([piece[:2] for piece in outside[1:]])
        # SECURITY: a quotation mark behind a backslash is one within a string.
        and b'\\"' not in [piece[-2:] for piece in outside[:-1]]
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
