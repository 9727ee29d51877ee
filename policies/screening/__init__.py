"""Screening for secrets: rules as data, one engine, offline checks, views, the deny corpus."""

from policies.screening.deny import looked_for
from policies.screening.mending import BETWEEN_PARTS
from policies.screening.own import Own
from policies.screening.parts import Strings
from policies.screening.places import place
from policies.screening.reading import AMBIGUOUS
from policies.screening.screen import Screen
from policies.screening.sifting import Suspects

__all__ = [
    "AMBIGUOUS",
    "BETWEEN_PARTS",
    "Own",
    "Screen",
    "Strings",
    "Suspects",
    "looked_for",
    "place",
]
