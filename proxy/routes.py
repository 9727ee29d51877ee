"""Which upstream a request goes to. Pure; it must not know how to reach one."""

from fnmatch import fnmatchcase

from proxy.config import Config, RouteSettings, UpstreamSettings
from proxy.errors import Refused


def choose(config: Config, *, family: str, model: str, client: str) -> UpstreamSettings:
    """The first route that matches, else the first upstream in file order that speaks `family`.

    A route's empty pattern matches everything; patterns are globs, compared with case. A route to
    an upstream that does not speak `family` does not match. Raises `Refused("no-route")`.
    """
    speakers = {up.name: up for up in config.upstreams if family in up.dialects}
    for route in config.routes:
        if route.upstream in speakers and _matches(route, family, model, client):
            return speakers[route.upstream]
    for upstream in speakers.values():
        return upstream
    raise Refused("no-route", dialect=f" ({family})")


def _matches(route: RouteSettings, family: str, model: str, client: str) -> bool:
    return all(
        not pattern or fnmatchcase(value, pattern)
        for pattern, value in (
            (route.model, model),
            (route.client, client),
            (route.dialect, family),
        )
    )
