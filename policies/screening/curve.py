"""Ed25519 key pairs, RFC 8032: whether 32 bytes are the public key of 32 others.

Owns the arithmetic, which is for telling what a row of bytes is and for nothing else: it takes a
time that depends on the key. It must not know where bytes stood.
"""

import hashlib
from functools import cache

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_BASE_Y = 4 * pow(5, -1, _P) % _P
Point = tuple[int, int, int, int]
"""Extended homogeneous coordinates."""


def is_pair(raw: bytes) -> bool:
    """Are the last 32 of 64 bytes the public key that belongs to the first?"""
    y = int.from_bytes(raw[32:], "little")
    if len(raw) != 64 or _x(y & 2**255 - 1) is None:
        return False
    digest = hashlib.sha512(raw[:32]).digest()
    scalar = int.from_bytes(digest[:32], "little") & 2**254 - 8 | 2**254
    point: Point = (0, 1, 1, 0)
    for bit, power in enumerate(_powers()):
        if scalar >> bit & 1:
            point = _add(point, power)
    inverse = pow(point[2], -1, _P)
    return point[1] * inverse % _P | (point[0] * inverse % _P & 1) << 255 == y


@cache
def _powers() -> tuple[Point, ...]:
    """The base point, doubled again and again."""
    x = _x(_BASE_Y) or 0
    x = _P - x if x & 1 else x
    powers = [(x, _BASE_Y, 1, x * _BASE_Y % _P)]
    for _ in range(254):
        powers.append(_add(powers[-1], powers[-1]))
    return tuple(powers)


def _x(y: int) -> int | None:
    """One of the two that a point with this y has, if there is such a point."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    return x if (x * x - square) % _P == 0 else None


def _add(one: Point, two: Point) -> Point:
    a = (one[1] - one[0]) * (two[1] - two[0]) % _P
    b = (one[1] + one[0]) * (two[1] + two[0]) % _P
    c = 2 * one[3] * two[3] * _D % _P
    d = 2 * one[2] * two[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P
