"""Which upstream a request goes to, and in which mode. Pure; it must not know how to reach one."""

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import cast

from msgspec import Struct

from policies.settings import Minimality, Mode
from proxy.config import Config, RouteSettings, UpstreamSettings
from proxy.errors import Refused


class Chosen(Struct, frozen=True):
    """Where a request goes, how much of it is shown there, and whether home is asked first.
    `route`: its name, where it says by itself how much is shown; empty else."""

    upstream: UpstreamSettings
    minimality: Minimality
    home_first: bool = False
    route: str = ""


def choose(config: Config, *, family: str, model: str, client: str) -> Chosen:
    """The first route that matches, else the first upstream in file order that speaks `family`.

    A route's empty pattern matches everything; patterns are globs, compared with case. A route to
    an upstream that does not speak `family` does not match. Raises `Refused("no-route")`.
    """
    general = config.policies.minimality
    speakers = {up.name: up for up in config.upstreams if family in up.dialects}
    for route in config.routes:
        if route.upstream in speakers and _matches(route, family, model, client):
            mode = cast(Mode, route.minimality or general.mode)
            first = (route.prefer or config.fallback.prefer) == "local"
            return Chosen(
                speakers[route.upstream], replace(general, mode=mode), first, _name(route)
            )
    for upstream in speakers.values():
        return Chosen(upstream, general, config.fallback.prefer == "local")
    raise Refused("no-route", dialect=family)


def _matches(route: RouteSettings, family: str, model: str, client: str) -> bool:
    return all(
        not pattern or fnmatchcase(value, pattern)
        for pattern, value in (
            (route.model, model),
            (route.client, client),
            (route.dialect, family),
        )
    )


def _name(route: RouteSettings) -> str:
    """What a route is known by as long as it is for the same requests."""
    return "\n".join((route.model, route.client, route.dialect)) if route.minimality else ""
