"""The demonstration, and the instruments of the tests: scripted upstreams, real SDK agents.

Owns `main`. Importing this loads neither an SDK nor the relay, so that tests can use the upstreams
alone.
"""

SABOTAGES = ("frame", "screen", "ledger", "redirect")
"""Lines of defence that `main` can break first, to show that its checks notice."""


def main(sabotage: str | None = None) -> int:
    """Play the main job through a node of its own and print what happened.

    `sabotage`: one of `SABOTAGES`, or None. Returns 0 if every check against the bytes recorded at
    the upstreams' sockets holds, else 1. Uses no network but 127.0.0.1, no keys, and leaves no
    files behind. `ValueError` for an unknown sabotage.
    """
    from proxy.demo.run import run

    return run(sabotage)
