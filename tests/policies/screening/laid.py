"""Pieces as the screen lays them side by side, of strands alone."""

from collections.abc import Mapping, Sequence

from policies.conversation import Strand
from policies.screening import Strings


def laid(pieces: Mapping[int, Sequence[Strand]]) -> dict[int, Strings]:
    """The strings of each piece, by its number."""
    return {number: Strings.made(strands) for number, strands in pieces.items()}
