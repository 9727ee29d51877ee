"""What the bench of answers from home compares: one question, asked through a node and directly."""

import json
from pathlib import Path

from bench import home, model
from proxy.demo.files import nsec


def test_both_are_asked_the_same() -> None:
    """The secret is in what home is asked, whichever way, and not in what the cloud has seen."""
    before, body = home.question(2_000, " x")
    assert nsec().encode() not in before
    for way, path in (("translated", "/api/chat"), ("straight", "/v1/messages")):
        asked, where = home.question_at_home(way, body)
        assert where == path
        assert nsec() in str(json.loads(asked)["messages"][-1])
        assert json.loads(asked)["model"] == "bench"


async def test_each_way_and_each_asker_has_its_figures(tmp_path: Path) -> None:
    """Nodes as users run them answer from home, and neither before the model has said a word."""
    found = await home.measured(tmp_path, sizes=(2_000,), rounds=1)
    whose = ("home", "direct", "cpu")
    assert set(found) == {(way, 2_000, who) for way in home.WAYS for who in whose}
    for (_, _, who), times in found.items():
        assert (min(times) >= model.FIRST) is (who != "cpu")
    table = home.table(found)
    assert len(table.splitlines()) == 2 + len(home.WAYS)
