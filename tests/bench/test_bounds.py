"""What the bench compares when it asks what bounds cost."""

from pathlib import Path

import pytest

from bench import bounds, nodes
from proxy.config import load


@pytest.mark.parametrize(
    ("way", "mode", "limited"),
    [
        ("guard", "dialogue", True),
        ("whole", "off", True),
        ("unlimited", "dialogue", False),
        ("unbound", "off", False),
        ("relay", "dialogue", False),
    ],
)
def test_each_guard_is_without_what_it_says(
    tmp_path: Path, way: str, mode: str, limited: bool
) -> None:
    """Its configuration is valid, and differs in that alone."""
    *_, path = nodes.serve(way, "http://127.0.0.1:9", tmp_path)
    policies = load(Path(path), {}).policies
    assert (policies.minimality.mode, policies.limits.enabled) == (mode, limited)
    assert policies.envelope.enabled is (way != "relay")


def test_the_verdict_is_a_share_of_what_a_bare_proxy_adds() -> None:
    """Differences are taken within each round, and the middle one counts."""
    p50 = {
        "direct": [0.4, 0.5, 9.0],
        "baseline": [1.4, 1.5, 10.0],
        bounds.GUARD: [5.4, 6.3, 90.0],
        bounds.WITHOUT: [5.0, 6.0, 10.0],
    }
    assert bounds.verdict(p50) == "0.40, ≤ 0.5 met"
    p50[bounds.GUARD] = [5.7, 6.7, 90.0]
    assert bounds.verdict(p50) == "0.70, ≤ 0.5 missed"
