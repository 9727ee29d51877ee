"""What leaves is the current turn: canaries of earlier turns never reach the socket."""

import json
from dataclasses import replace
from typing import Any

import pytest

from policies.settings import Minimality
from policies.turn_minimal import allowlist, assert_turn_minimal
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import staged
from tests.strict.house import Change

CUTS = [(mode, strategy) for mode in ("strict", "dialogue") for strategy in ("drop", "elide")]


def minimal(mode: str, strategy: str = "drop", cap: int = 0) -> Change:
    """A node that shows no more than that."""
    settings = Minimality(mode, strategy, cap)  # type: ignore[arg-type]
    return lambda config: replace(config, policies=replace(config.policies, minimality=settings))


def turned(dialect: str, *results: str) -> dict[str, Any]:
    """A turn for each result, and a new one that has asked nothing yet."""
    body = BODIES[dialect](results[0], after=True)
    key = "input" if dialect == "openai_responses" else "messages"
    for result in results[1:]:
        text = json.dumps(BODIES[dialect](result, after=True)[key][1:])
        body[key] += json.loads(text.replace("_1", f"_{len(body[key])}"))
    return body


@pytest.mark.parametrize(("mode", "strategy"), CUTS)
@pytest.mark.parametrize("dialect", PATHS)
async def test_unrelated_context_is_not_escalated_to_cloud(
    dialect: str, mode: str, strategy: str
) -> None:
    """What another turn found is not in one byte that arrives; what this one found is."""
    async with staged(change=minimal(mode, strategy)) as stage:
        body = turned(dialect, "canary-of-the-attic", "canary-of-the-cellar")
        assert (await stage.post(PATHS[dialect], body)).status == 200
        assert_turn_minimal(
            json.loads(stage.upstream.requests[-1].body), allowlist(body, mode, strategy)
        )
        answered = BODIES[dialect]("found in this very turn")
        assert (await stage.post(PATHS[dialect], answered)).status == 200
        arrived = b"".join(stage.upstream.received)
        assert b"canary-of" not in arrived
        assert b"found in this very turn" in arrived
