"""Messages as nobody should send them are no bug of ours: where a turn begins, and what stays of
earlier ones, the plan and its proof say alike."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from policies.decision import Leg
from policies.screening import Screen
from policies.settings import Minimality, Policies
from policies.turn_minimal import allowlist, assert_turn_minimal
from proxy.clean import CleanMarks
from proxy.dialects import ALL
from proxy.errors import Refused
from proxy.ledger import Ledger
from proxy.outgoing import Request, Workshop, open_body
from proxy.state import open_store
from tests.scenes.bodies import BODIES

SCREEN = Screen.build()
MODES = [("strict", "drop"), ("dialogue", "drop"), ("dialogue", "elide")]
ROLES = ("user", "Assistant", "system", "tool", "function", "model", "", None)
TEXT: list[Any] = ["x", [{"type": "text", "text": "x"}]]
RESULT = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]
BESIDE: list[dict[str, Any]] = [
    {"content": "x", "tool_call_id": "c9"},
    {"content": "x", "tool_name": "t"},
    {"content": "x", "id": "x"},
    {"content": "x", "images": ["aGk="]},
    {"content": [{"type": "text", "text": "x"}]},
    {"content": RESULT},
    {"content": {"a": 1}},
]
ITEMS: list[dict[str, Any]] = [
    {"type": kind, "content": "x"}
    for kind in ("foo", "foo_output", "message", "reasoning", "tool_search_output", "computer_call")
]
ITEMS += [{"type": "foo", "content": RESULT}, {"type": 5, "content": "x"}, {"id": None}, {"id": 5}]
ITEMS += [{"type": "tool_search_output", "execution": "client"}]


def odd(dialect: str) -> Iterator[dict[str, Any]]:
    """Messages with roles and members that do not belong together."""
    beside = BESIDE + (ITEMS if dialect == "openai_responses" else [])
    for more in beside:
        for role in ROLES:
            yield more if role is None else {"role": role, **more}


async def sent(dialect: str, body: dict[str, Any], mode: str, strategy: str) -> Any:
    """What leaves of the body, None where it is refused for what it is."""
    raw, store = json.dumps(body).encode(), open_store("memory:")
    policies = Policies(minimality=Minimality(mode, strategy))  # type: ignore[arg-type]
    shop = Workshop(policies, Ledger(store, store.key), CleanMarks(), lambda: SCREEN)
    document, _ = open_body(ALL[dialect], raw)
    try:
        outgoing = await shop.prepare(Request(raw, ALL[dialect], Leg.CLOUD), document)
    except Refused as no:
        pytest.fail(f"{no.code}: {no.facts}")
    if outgoing.decision.refusal is not None:
        return None
    assert outgoing.cleared is not None
    return json.loads(outgoing.cleared.body)


@pytest.mark.parametrize(("mode", "strategy"), MODES)
@pytest.mark.parametrize("dialect", BODIES)
async def test_a_message_that_fits_nowhere_is_no_proof_that_failed(
    dialect: str, mode: str, strategy: str
) -> None:
    """At each place of a history: it goes on, minimal, or is refused for what it is."""
    key = "input" if dialect == "openai_responses" else "messages"
    left = 0
    for message in odd(dialect):
        for place in (0, 3, 5):
            body = BODIES[dialect]("found", after=True)
            body[key].insert(place, message)
            if (arrived := await sent(dialect, body, mode, strategy)) is not None:
                left += 1
                if isinstance(message.get("type", ""), str) and message.get("id") != 5:
                    assert_turn_minimal(arrived, allowlist(body, mode, strategy))
    assert left > 100


async def test_a_role_that_nobody_knows_is_not_the_operator() -> None:
    """What it says does not leave with what operator and model have said."""
    for role in ("tool", "function", "model", "narrator"):
        for dialect in ("openai_responses", "anthropic_messages", "ollama_chat", "openai_chat"):
            body = BODIES[dialect]("found", after=True)
            key = "input" if dialect == "openai_responses" else "messages"
            body[key].insert(1, {"role": role, "content": "canary of a stranger"})
            arrived = await sent(dialect, body, "dialogue", "drop")
            assert "Read it." in str(arrived), (role, dialect)
            assert "canary" not in str(arrived), (role, dialect)
