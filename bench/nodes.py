"""Transom as it is measured: two configurations, and how a node with one of them is started."""

from pathlib import Path

OURS = ("relay", "guard")

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
[[upstream]]
name = "bench"
leg = "cloud"
base_url = "{url}"
dialects = ["anthropic"]
auth = "none"
"""


def serve(way: str, upstream: str, folder: Path) -> list[str]:
    """Write the configuration of `way` into `folder`; what is left to run behind `python -m`."""
    path = folder / f"{way}.toml"
    text = {"relay": _RELAY, "guard": _GUARD}[way]
    path.write_text(text.format(url=upstream, folder=folder))
    return ["proxy", "serve", "-c", str(path)]
