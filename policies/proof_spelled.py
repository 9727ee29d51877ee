"""The proof's look at a framed message as it is spelled: the client's bytes, and frames round them.

Part of the proof, and as independent: it shares no code with what makes frames. It must not know
what else may stand in a message. Mostly nothing is changed but that claimed frames stand round
texts, which are escaped as the client has it; then no value needs to be compared with another.
"""

import re
from collections.abc import Callable, Iterable

import msgspec

from policies.decision import FrameRow

STEM = "transom_data"

_MARK = re.compile(r"[0-9a-f]{32} [A-Za-z0-9_.:-]{1,48}")
_BEHIND = (b",", b"}", b"]")  # a value
_text: Callable[[bytes], str] = msgspec.json.Decoder(str).decode


def framed(
    came: bytes, sent: bytes, waiting: Iterable[tuple[int, FrameRow, str]]
) -> list[int] | None:
    """The units whose frames are all that `sent` has beside `came`, both of them JSON: the next of
    those that wait, each with its row and its text. None where that cannot be seen so, or where a
    text has to be looked at more closely."""
    met: list[int] = []
    before = behind = 0
    for number, row, text in waiting:
        head, tail = _ends(row)
        start = sent.find(head, behind)
        if start < 0:
            break
        inside = start + len(head)
        stop = sent.find(tail, inside)
        at = before + start - behind
        literal = b'"%b"' % sent[inside:stop]
        end = at + len(literal)
        # SECURITY: what stands behind a string tells that it is no key. That it begins here in both
        # is certain: up to here they are the same, and nothing else in JSON goes on so.
        if (
            stop < 0
            or came[before:at] != sent[behind:start]
            # SECURITY: a quotation mark behind a backslash is one within a string.
            or came.endswith(b"\\", before, at)
            or not came.startswith(literal, at)
            or not came.startswith(_BEHIND, end)
            or not _is(literal, row, text)
        ):
            return None
        met.append(number)
        before, behind = end, stop + len(tail)
    return met if met and came[before:] == sent[behind:] else None


def _ends(row: FrameRow) -> tuple[bytes, bytes]:
    """What stands before and behind the text in a frame that cuts nothing off, as JSON."""
    nonce = row.nonce
    intro = (
        f"[Data envelope (code-owned)]: this message's nonce is {nonce}.\\n" if row.intro else ""
    )
    head = f'"{intro}[[TRANSOM_DATA nonce={nonce} field={row.field}]]\\n'
    return head.encode(), f'\\n[[END_TRANSOM_DATA nonce={nonce}]]"'.encode()


def _is(literal: bytes, row: FrameRow, text: str) -> bool:
    """Whether `literal` spells `text`, and `row` has it framed as it is, and well."""
    if (
        row.kept is not None
        or row.encode != "raw"
        or not _MARK.fullmatch(f"{row.nonce} {row.field}")
    ):
        return False
    try:
        same = _text(literal) == text
    except msgspec.MsgspecError:
        return False
    # SECURITY: a text that knows a mark may end its frame itself.
    return same and row.nonce not in text and STEM not in text.casefold()
