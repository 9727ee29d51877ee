"""What leaves beside the body, header values and the query, as pieces for the screen. Pure.

It must not know which headers are credentials: the door has set those apart.
"""

from collections.abc import Sequence
from hashlib import sha256
from urllib.parse import parse_qsl, unquote_plus

from policies.conversation import Address, Piece, Strand
from policies.screening import BETWEEN_PARTS


def pieces(headers: Sequence[tuple[str, str]], path: str, query: str) -> tuple[Piece, ...]:
    """One piece per header, one for the path with its ids, one for the query if there is one.

    A header's name is read too: it leaves as well. The values of a query are read as one as well.
    """
    found = [_piece(("headers", name), name, value) for name, value in headers]
    found.append(_piece(("path",), path, unquote_plus(path)))
    if query:
        values = [value for _, value in parse_qsl(query, keep_blank_values=True)]
        joined = ["".join(values), BETWEEN_PARTS.join(values)] if len(values) > 1 else []
        found.append(_piece(("query",), query, unquote_plus(query), *joined))
    return tuple(found)


def _piece(address: Address, *texts: str) -> Piece:
    raw = "\0".join(("around", *texts)).encode("utf-8", "surrogateescape")

    def strands() -> tuple[Strand, ...]:
        return tuple(Strand(address, text) for text in dict.fromkeys(texts))

    return Piece(address, sha256(raw).digest(), strands)
