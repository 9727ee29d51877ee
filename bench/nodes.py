"""Transom as it is measured: its configurations, and how a node with one of them is started.

The guard has the default profile, `balanced`, and counts everything that has a limit; each limit is
too high to be met: what is answered at home would not be measured. Beside it there are guards
without what bounds a conversation, each without one part of it or without all.
"""

from pathlib import Path

OURS = ("relay", "guard")

UNBOUND = ("whole", "unlimited", "unbound")
"""The guard in profile `relay`; without limits and rates; with neither."""

_RELAY = """version = 1
[listen]
port = 0
[state]
url = "memory:"
[envelope]
enabled = false
[limits]
enabled = false
[[upstream]]
name = "bench"
leg = "local"
base_url = "{url}"
dialects = ["anthropic"]
auth = "none"
"""
_GUARD = """version = 1
[listen]
port = 0
[state]
url = "sqlite://{folder}/guard.db"
[limits]
max_turns = 100000
same_result = [99999, 100000]
polling = [99999, 100000]
cycle = [99999, 100000]
read_only = [99999, 100000]
result_bytes = ["500 MB", "1 GB"]
requests = ["900000/1m", "1000000/1m"]
[[upstream]]
name = "bench"
leg = "cloud"
base_url = "{url}"
dialects = ["anthropic"]
auth = "none"
"""
_LIMITS = _GUARD[_GUARD.index("[limits]") : _GUARD.index("[[upstream]]")]
_WHOLE = 'version = 1\nprofile = "relay"'
_TEXTS = {
    "relay": _RELAY,
    "guard": _GUARD,
    "whole": _GUARD.replace("version = 1", _WHOLE),
    "unlimited": _GUARD.replace(_LIMITS, "[limits]\nenabled = false\n"),
}
_TEXTS["unbound"] = _TEXTS["unlimited"].replace("version = 1", _WHOLE)


def serve(way: str, upstream: str, folder: Path) -> list[str]:
    """Write the configuration of `way` into `folder`; what is left to run behind `python -m`."""
    path = folder / f"{way}.toml"
    path.write_text(_TEXTS[way].format(url=upstream, folder=folder))
    return ["proxy", "serve", "-c", str(path)]
