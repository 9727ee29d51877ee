"""The configuration: TOML and environment in, one frozen `Config` or a list of problems out."""

from proxy.config.load import Examined, examine, load
from proxy.config.model import (
    ClientSettings,
    Config,
    Fallback,
    Listen,
    RouteSettings,
    Timeouts,
    UpstreamSettings,
)

__all__ = [
    "ClientSettings",
    "Config",
    "Examined",
    "Fallback",
    "Listen",
    "RouteSettings",
    "Timeouts",
    "UpstreamSettings",
    "examine",
    "load",
]
