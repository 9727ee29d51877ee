"""What real clients were seen to send, as the earlier turn of a history that is cut."""

import json
from typing import Any

import pytest

from policies.turn_minimal import allowlist, assert_turn_minimal
from tests.scenes.bodies import PATHS
from tests.scenes.staging import staged
from tests.strict import anthropic_rules, chat, responses
from tests.strict.anthropic_rules import Rule
from tests.strict.turns import listed, showing
from tests.wire.filling import dialect_of, filled, names, skeleton

CUTS = [(mode, strategy) for mode in ("strict", "dialogue") for strategy in ("drop", "elide")]
RULES: dict[str, dict[str, Rule]] = {
    "anthropic_messages": anthropic_rules.RULES,
    "openai_chat": chat.CHAT_RULES,
    "openai_responses": responses.RULES,
    "ollama_chat": chat.OLLAMA_RULES,
}
HELD = {name for name in names() if "previous_response_id" in str(skeleton(name)["body"])}


def grown(name: str) -> dict[str, Any]:
    """The captured request, answered, and the next prompt."""
    body: dict[str, Any] = json.loads(filled(name))
    dialect = dialect_of(name)
    words = "All of it was read."
    answer: dict[str, Any] = {"role": "assistant", "content": words}
    prompt: dict[str, Any] = {"role": "user", "content": "And what of the second shelf?"}
    if dialect == "openai_responses":
        parts = [{"type": "output_text", "text": words, "annotations": []}]
        answer = {"type": "message", "id": "msg_1", "role": "assistant", "content": parts}
    listed(body).extend([answer, prompt])
    return body


def broken(dialect: str, body: dict[str, Any]) -> set[str]:
    """The rules that a body breaks."""
    return {name for name, rule in RULES[dialect].items() if [*rule.check(body)]}


@pytest.mark.parametrize("name", [name for name in names() if name not in HELD])
async def test_captured_shapes_are_cut_and_stay_valid(name: str) -> None:
    """Under every mode and strategy: minimal, and no rule is broken that was not before."""
    dialect, body = dialect_of(name), grown(name)
    for mode, strategy in CUTS:
        async with staged(change=showing(mode, strategy)) as stage:
            answer = await stage.post(PATHS[dialect], body)
            assert answer.status == 200, answer.body
            sent = stage.upstream.requests[-1].json()
        assert_turn_minimal(sent, allowlist(body, mode, strategy))
        assert broken(dialect, sent) <= broken(dialect, body), (mode, strategy)
        assert listed(sent)[-1]["role"] == "user"
        assert len(listed(sent)) <= len(listed(body)) + 2


@pytest.mark.parametrize("name", HELD)
async def test_what_leans_on_held_state_does_not_leave(name: str) -> None:
    """Nobody here can say what an upstream holds under an id."""
    async with staged(change=showing("dialogue")) as stage:
        answer = await stage.post(PATHS[dialect_of(name)], grown(name))
        assert answer.status == 400
        assert stage.upstream.accepted == 0
