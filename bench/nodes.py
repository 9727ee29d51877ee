"""Transom as it is measured: two configurations, and how a node with one of them is started.

The guard counts everything that has a limit, and each limit is too high to be met: what is answered
at home would not be measured.
"""

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


def serve(way: str, upstream: str, folder: Path) -> list[str]:
    """Write the configuration of `way` into `folder`; what is left to run behind `python -m`."""
    path = folder / f"{way}.toml"
    text = {"relay": _RELAY, "guard": _GUARD}[way]
    path.write_text(text.format(url=upstream, folder=folder))
    return ["proxy", "serve", "-c", str(path)]
