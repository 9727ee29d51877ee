"""A turn whose results have many bytes, against the bounds as they are without a configuration."""

import pytest

from policies.decision import Leg
from tests.scenes.bodies import PATHS
from tests.scenes.staging import staged
from tests.scenes.turns import TURNS, one

MEGABYTE = 1_000_000


@pytest.mark.parametrize("leg", Leg)
async def test_beyond_sixteen_megabytes_of_results_a_turn_ends(leg: Leg) -> None:
    """Told behind four, answered without tools behind sixteen, and then by no model."""
    rounds = [one("write_file", n, "a line of a log\n" * (size * MEGABYTE // 16))
              for n, size in enumerate((3, 2, 6, 6))]  # fmt: skip
    rounds.append(one("write_file", 9, "one more"))
    async with staged(leg=leg) as stage:
        seen = []
        for count in range(1, len(rounds) + 1):
            body = TURNS["openai_chat"](rounds[:count])
            answer = await stage.post(PATHS["openai_chat"], body)
            assert answer.status == 200, answer.body[:300]
            seen.append((answer.headers.get("x-transom-notice", ""), len(stage.upstream.requests)))
        asked = [one for one in stage.upstream.requests if one.path == PATHS["openai_chat"]]
        assert len(asked) == 4
        assert [one.json().get("tool_choice") for one in asked] == [None, None, None, "none"]
        assert [notice for notice, _ in seen] == ["", "", "", "turn-limit", "turn-limit"]
        assert b"17000008 bytes of results" in answer.body
        await stage.node.parts.owner.recorder.flush()
        await stage.node.parts.owner.recorder.flush()
        counted = await stage.node.parts.store.counters()
        assert (counted["turn-limit-soft"], counted["turn-limit"]) == (1, 1)
