"""How much leaves under a configuration, as a node tells it to whoever asks.

Owns those facts, told and read. It must not know what they mean for a client (`proxy.meanings`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.config import Config
from proxy.config.profiles import PROFILES, mode_of


@dataclass(frozen=True, slots=True)
class Leaving:
    """`mode` is in force, because `profile` or, where that is empty, a written setting says so.
    `routes`: what the requests of some routes have in its place, and for which. `strategy`: what
    becomes of the rest, as `settings.Minimality` has it."""

    mode: str
    profile: str = ""
    routes: tuple[tuple[str, str], ...] = ()
    strategy: str = "drop"

    def facts(self) -> dict[str, object]:
        """For JSON."""
        routes = [{"route": route, "mode": mode} for route, mode in self.routes]
        return {
            "mode": self.mode,
            "profile": self.profile or None,
            "routes": routes,
            "strategy": self.strategy,
        }


def leaving(config: Config) -> Leaving:
    """What holds under `config`."""
    mode, strategy = config.policies.minimality.mode, config.policies.minimality.strategy
    routes = tuple(
        (_named(route.model, route.client), route.minimality)
        for route in config.routes
        if route.minimality and route.minimality != mode
    )
    profile = config.profile if mode_of(config.profile) == mode else ""
    return Leaving(mode, profile, routes, strategy)


def told(facts: object) -> Leaving | None:
    """What a node told; None where it told nothing that this version knows."""
    if not isinstance(facts, Mapping) or facts.get("mode") not in [*map(mode_of, PROFILES)]:
        return None
    rows = facts.get("routes")
    routes = rows if isinstance(rows, list) else []
    return Leaving(
        str(facts["mode"]),
        str(facts.get("profile") or ""),
        tuple((str(row["route"]), str(row["mode"])) for row in routes if isinstance(row, Mapping)),
        str(facts.get("strategy") or "drop"),
    )


def _named(model: str, client: str) -> str:
    parts = [f"models {model}" if model else "", f"clients {client}" if client else ""]
    return " and ".join(filter(None, parts)) or "all other requests"
