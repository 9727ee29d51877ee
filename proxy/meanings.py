"""What a profile means for a client, in a few words for whoever connects it.

Owns the words. It must not know how a cut is made, nor a client beyond how it works: an agent calls
tools in a loop, a chat shows what is said to a person, a library is called by somebody's program.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proxy.clients import Works
from proxy.config.profiles import PROFILES, mode_of
from proxy.leaving import Leaving

MEANINGS: Final[Mapping[str, Mapping[str, str]]] = {
    "strict": {
        "agent": "a cloud model sees your current instruction and what its tools find for it, and "
        "nothing from before: it reads files again after each new instruction, and has to be told "
        "again what it should still know",
        "chat": "a cloud model sees your newest question alone: write into it what it refers to",
        "library": "a cloud model sees the newest request of the user and the calls made for it, "
        "and no earlier turn",
    },
    "dialogue": {
        "agent": "a cloud model sees what you and it said, but of earlier instructions not what "
        "its tools found: it reads files again after each new instruction",
        "chat": "a cloud model sees all that was said; pictures, documents and search results of "
        "earlier questions it does not see again",
        "library": "a cloud model sees the texts of earlier turns, without their calls, results "
        "and attachments",
    },
    "off": dict.fromkeys(
        ("agent", "chat", "library"),
        "a cloud model sees the whole history with every request, the results of all tools "
        "included",
    ),
}
"""Mode → how a client works → what it means there."""

_REST: Final[Mapping[str, str]] = {
    "elide": "Of earlier calls and results it sees that there were some, emptied "
    '(minimality.strategy = "elide").',
    "home": "A request that holds more than that stays home as it is "
    '(minimality.strategy = "home").',
}
"""Strategy → what it adds to that, where anything is cut."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """`means`: what `leaving` means for the client that is asked about. `others`: profiles to
    choose instead."""

    leaving: Leaving
    means: str
    others: tuple[str, ...]

    def facts(self) -> dict[str, object]:
        """For JSON."""
        return {**self.leaving.facts(), "means": self.means, "profiles": list(self.others)}

    def lines(self) -> list[str]:
        """For a terminal."""
        now = self.leaving
        why = f"profile {now.profile}" if now.profile else f'minimality.mode = "{now.mode}"'
        rest = [_REST[now.strategy]] if now.mode != "off" and now.strategy in _REST else []
        others = " or ".join(f'profile = "{each}"' for each in self.others)
        return [
            f"How much leaves ({why}): {self.means}.",
            *rest,
            *(f"For {route} it is {mode}." for route, mode in now.routes),
            f"To choose another: {others} at the top of the configuration, or profile in a "
            "[[route]] for some clients or models alone. At home nothing is cut.",
        ]


def meaning(leaving: Leaving, works: Works) -> Meaning:
    """What `leaving` means for a client that `works` so."""
    others = tuple(each for each in PROFILES if mode_of(each) != leaving.mode)
    return Meaning(leaving, MEANINGS[leaving.mode][works], others)
