r"""Escapes that a reader undoes in the head: `\u005f`, `\x5f`, `%5F`, `&#95;`, `&lowbar;`.

Owns one layer of decoding and the way back from decoded positions. It must not know what is looked
for. Understood: the escapes of JSON, JavaScript, Java, Perl, Python and C (`\uXXXX` with surrogate
pairs, `\u{…}`, `\x{…}`, `\UXXXXXXXX`, `\xXX`, `\ooo`), percent-encoded UTF-8 and `%uXXXX`, HTML
character references, also those that need no semicolon, and what colours a terminal, which is
nothing. A run of backslashes before an escape counts as one, since every quoting doubles it.
"""

import html
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

Span = tuple[int, int]

# Escapes of characters that can neither be part of a stem nor of another escape are passed over:
# quotes and angle brackets, and U+4000 to U+9FFF. Pages and dumps are full of them.
_BACKSLASH = re.compile(
    r"\\(?<!\\\\)\\*+(?:"  # from the head of the run and without a way back: linear time
    r"u([dD][89abAB][0-9a-fA-F]{2})\\++u([dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?:u++(?![4-9])([0-9a-fA-F]{4})|[ux]\{0*([0-9a-fA-F]{1,6})\}|U([0-9a-fA-F]{8})"
    r"|x([0-9a-fA-F]{2}))"
    r"|([0-3][0-7]{2}))"
)
_PERCENT = re.compile(r"%(?:u[0-9a-fA-F]{4}|[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*)")
# Names that browsers know without a semicolon, as far as they stand for what can be in a stem.
_BARE_NAMES = (
    "[Aa](?:acute|circ|elig|grave|ring|tilde|uml)|AElig|[Oo](?:acute|circ|grave|slash|tilde|uml)"
    "|[Nn]tilde|ETH|eth|micro|nbsp|ord[fm]|shy|AMP|amp"
)
_REFERENCE = re.compile(
    r"&(?!quot;|apos;|lt;|gt;|#39;|#x27;|#34;)"
    r"(?:#(?:0*[0-9]{1,8}|[xX]0*[0-9a-fA-F]{1,8});?|[A-Za-z][A-Za-z0-9]{1,31};"
    rf"|{_BARE_NAMES})"
)
# Each way begins with a character of its own: the matcher skips to those alone.
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]")
_ANY = re.compile("|".join(one.pattern for one in (_BACKSLASH, _PERCENT, _REFERENCE, _COLOUR)))
_KINDS = (
    ("\\", _BACKSLASH),
    ("%", _PERCENT),
    ("&", _REFERENCE),
    ("\x1b", _COLOUR),
    ("\x9b", _COLOUR),
)


def decode(text: str) -> str:
    """Undo one layer of escapes, all kinds at once. Without escapes: the identical object."""
    for mark, kind in _KINDS:
        if mark in text and kind.search(text):
            break
    else:
        return text
    return _ANY.sub(lambda match: _decoded(match.group()), text)


def _decoded(escape: str) -> str:
    # Texts repeat their escapes; long runs are not kept, so that nothing pins a body.
    return _remembered(escape) if len(escape) <= 16 else _undone(escape)


def _undone(escape: str) -> str:
    return "".join(made for made, _ in _pieces(escape))


_remembered = lru_cache(maxsize=4096)(_undone)


def trace(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans of `decode(text)`, in order and apart, as spans of `text`. An escape that is touched
    belongs to the span as a whole."""
    ends = [edge for span in spans for edge in span]
    edges: list[int] = []
    shift = 0
    if not ends:
        return []
    for source, size, target, made in _cells(text):
        while len(edges) < len(ends):
            edge, is_end = ends[len(edges)], len(edges) % 2
            # A start is the first source character of its cell, an end follows the last one.
            if edge - is_end < target:
                edges.append(edge + shift)
            elif edge - is_end < target + made:
                edges.append(source + size if is_end else source)
            else:
                break
        if len(edges) == len(ends):
            break
        shift = source + size - target - made
    edges += [edge + shift for edge in ends[len(edges) :]]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _cells(text: str) -> Iterator[tuple[int, int, int, int]]:
    """Each decoded piece: offset and length in the source, offset and length when decoded."""
    shift = 0
    for match in _ANY.finditer(text):
        source = match.start()
        for made, size in _pieces(match.group()):
            yield source, size, source - shift, len(made)
            source += size
            shift += size - len(made)


def _pieces(escape: str) -> Iterator[tuple[str, int]]:
    """Decoded text and length of the source, piece by piece."""
    if escape[0] in "\x1b\x9b":
        yield "", len(escape)
    elif escape[0] == "%" and escape[1] == "u":
        yield chr(int(escape.strip("%u"), 16)), len(escape)
    elif escape[0] == "%":
        for char in bytes.fromhex(escape.replace("%", "")).decode("utf-8", "surrogateescape"):
            # A byte that is no UTF-8 comes back as one lone surrogate.
            lone = "\udc80" <= char <= "\udcff"
            yield char, 3 if lone else 3 * len(char.encode())
    elif escape[0] == "&":
        yield html.unescape(escape), len(escape)
    else:
        code = _code_point(escape)
        yield chr(code) if code <= 0x10FFFF else escape, len(escape)


def _code_point(escape: str) -> int:
    match = _BACKSLASH.fullmatch(escape)
    assert match is not None
    high, low, *single, octal = match.groups()
    if high:
        return 0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00
    return int(octal, 8) if octal else int(next(filter(None, single)), 16)
