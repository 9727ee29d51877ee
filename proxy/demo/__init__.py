"""The demonstration, and the instruments of the tests: scripted upstreams, real SDK agents.

Owns `main`. Importing this loads neither an SDK nor the relay, so that tests can use the upstreams
alone.
"""

import gc
from importlib.util import find_spec

SDKS = ("anthropic", "openai", "ollama")
"""What the agents are made of. Serving needs none of them, and an image may leave them out."""

SABOTAGES = ("frame", "screen", "ledger", "redirect")
"""Lines of defence that `main` can break first, to show that its checks notice."""


def missing() -> tuple[str, ...]:
    """Those of `SDKS` that are not installed. Loads none."""
    return tuple(name for name in SDKS if find_spec(name) is None)


def main(sabotage: str | None = None) -> int:
    """Play the main job through a node of its own and print what happened.

    `sabotage`: one of `SABOTAGES`, or None. Returns 0 if every check against the bytes recorded at
    the upstreams' sockets holds, else 1. Uses no network but 127.0.0.1, no keys, and leaves no
    files behind. `ValueError` for an unknown sabotage.
    """
    from proxy.early import Early

    early = Early()
    collects = gc.isenabled()
    gc.disable()  # most of what is read stays, and the play is short
    try:
        from proxy.demo.run import run

        return run(sabotage, early.screen)
    finally:
        if collects:
            gc.enable()
