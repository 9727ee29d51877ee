"""What a profile means for a client, in a few words for whoever connects it.

Owns the words. It must not know how a cut is made, nor a client beyond how it works: an agent calls
tools in a loop, a chat shows what is said to a person, a library is called by somebody's program.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proxy.clients import Works
from proxy.config import Config
from proxy.config.profiles import PROFILES, mode_of

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


@dataclass(frozen=True, slots=True)
class Meaning:
    """`mode` is in force, because `profile` or, where that is empty, a written setting says so.
    `means`: for the client that is asked about. `others`: profiles to choose instead. `routes`:
    what the requests of some routes have in its place, and for which."""

    mode: str
    profile: str
    means: str
    others: tuple[str, ...]
    routes: tuple[tuple[str, str], ...] = ()

    def facts(self) -> dict[str, object]:
        """For JSON."""
        routes = [{"route": route, "mode": mode} for route, mode in self.routes]
        return {
            "mode": self.mode,
            "profile": self.profile or None,
            "means": self.means,
            "profiles": list(self.others),
            "routes": routes,
        }

    def lines(self) -> list[str]:
        """For a terminal."""
        why = f"profile {self.profile}" if self.profile else f'minimality.mode = "{self.mode}"'
        others = " or ".join(f'profile = "{each}"' for each in self.others)
        return [
            f"How much leaves ({why}): {self.means}.",
            *(f"For {route} it is {mode}." for route, mode in self.routes),
            f"To choose another: {others} at the top of the configuration, or profile in a "
            "[[route]] for some clients or models alone. At home nothing is cut.",
        ]


def meaning(config: Config, profile: str, works: Works) -> Meaning:
    """What holds for a client that `works` so, under `config`, whose written or default profile is
    `profile`."""
    mode = config.policies.minimality.mode
    routes = tuple(
        (_named(route.model, route.client), route.minimality)
        for route in config.routes
        if route.minimality and route.minimality != mode
    )
    kept = profile if mode_of(profile) == mode else ""
    others = tuple(each for each in PROFILES if mode_of(each) != mode)
    return Meaning(mode, kept, MEANINGS[mode][works], others, routes)


def _named(model: str, client: str) -> str:
    parts = [f"models {model}" if model else "", f"clients {client}" if client else ""]
    return " and ".join(filter(None, parts)) or "all other requests"
