"""What leaves beside the body, header values and the query, as pieces for the screen. Pure.

It must not know which headers are credentials: the door has set those apart.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from urllib.parse import parse_qsl, unquote_plus

from policies.conversation import Address, Piece, Strand
from policies.screening import BETWEEN_PARTS
from proxy.headers import Headers


@lru_cache(maxsize=64)
def pieces(headers: Headers, path: str, query: str) -> tuple[Piece, ...]:
    """One piece per header, one for the path with its ids, one for the query if there is one.

    A header's name is read too: it leaves as well. The parts of a query are read as one as well.
    A client says the same with each request; a few are remembered, in memory only.
    """
    found = [_piece(("headers", name), value, name=name) for name, value in headers]
    found.append(_piece(("path",), path, unquote_plus(path)))
    if query:
        parts = parse_qsl(query, keep_blank_values=True)
        found.append(_piece(("query",), query, unquote_plus(query), *_joined(parts)))
    return tuple(found)


def _joined(parts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names and values of a query, each in one piece: one secret may stand in several."""
    for texts in zip(*parts, strict=True) if len(parts) > 1 else ():
        yield "".join(texts)
        yield BETWEEN_PARTS.join(texts)


def _piece(address: Address, *texts: str, name: str = "") -> Piece:
    raw = "\0".join(("around", name, *texts)).encode("utf-8", "surrogateescape")

    def strands() -> tuple[Strand, ...]:
        # The name is a key: halves of a secret in two headers stand in their values.
        key = (Strand(address, name, is_key=True),) if name else ()
        return (*key, *(Strand(address, text) for text in dict.fromkeys(texts)))

    return Piece(address, sha256(raw).digest(), strands)
