"""Who speaks after whom: leading text, runs, the turn, on bodies built for the point."""

import json

import pytest

from policies.conversation import Conversation, Origin
from proxy.dialects import ALL
from proxy.lazyjson import read

CALL = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "r"}
USER = {"role": "user", "content": "u"}
SYSTEM = {"role": "system", "content": "s"}
MODEL = {"role": "assistant", "content": "a"}


def chat(*messages: object) -> Conversation:
    return ALL["openai_chat"].view(read(json.dumps({"messages": messages}).encode()))


@pytest.mark.parametrize(
    ("messages", "turn"),
    [
        ((), 0),
        ((SYSTEM,), 1),
        ((SYSTEM, {"role": "developer"}, USER), 2),
        ((USER, MODEL, USER), 2),
        # the running loop stays in the turn that began it, however many rounds it has
        ((USER, MODEL, USER, CALL, RESULT, CALL, RESULT), 2),
        # parallel results, and a picture of the tool sent as a user message behind them
        ((USER, CALL, RESULT, RESULT, USER), 0),
        # a reminder behind the results
        ((USER, MODEL, USER, CALL, RESULT, SYSTEM), 2),
        # the turn starts at the beginning of its run, not at its last user message
        ((USER, MODEL, SYSTEM, USER, USER, SYSTEM), 2),
        # a run of system messages alone is no turn
        ((USER, MODEL, SYSTEM, MODEL), 0),
        # nothing qualifies: the whole history, but for the leading text
        ((SYSTEM, RESULT), 1),
        ((MODEL, RESULT), 0),
        # an orphan result continues a loop whose call was cut away
        ((USER, MODEL, RESULT, USER), 0),
        # two outputs of the model in a row have no run between them
        ((USER, MODEL, MODEL, USER), 3),
        # a legacy function message answers too
        ((USER, MODEL, {"role": "function", "name": "f", "content": "r"}), 0),
        # roles are compared lower-cased
        (({"role": "System"}, {"role": "USER"}, {"role": "Assistant"}, {"role": "User"}), 3),
    ],
)
def test_where_the_turn_starts(messages: tuple[object, ...], turn: int) -> None:
    """The newest run that answers no call and holds a user message begins the turn."""
    assert chat(*messages).turn == turn


def test_runs_lie_between_outputs_and_behind_the_leading_text() -> None:
    """Runs cover every message that is neither leading text nor output of the model, in order."""
    conversation = chat(SYSTEM, USER, MODEL, USER, SYSTEM, CALL, RESULT)
    assert [(run.start, run.stop) for run in conversation.runs] == [(1, 2), (3, 5), (6, 7)]


def test_a_result_beside_a_prompt_continues_the_turn() -> None:
    """A user message of the Anthropic dialect that answers a call begins nothing, text or not."""
    body = {
        "messages": [
            {"role": "user", "content": "u"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f"}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "r"},
                    {"type": "text", "text": "[Request interrupted] do this instead"},
                ],
            },
        ]
    }
    conversation = ALL["anthropic_messages"].view(read(json.dumps(body).encode()))
    assert conversation.turn == 0
    assert conversation.runs[1].answers_call


def test_origins() -> None:
    """Whose words: by role; a mentioned file's system message and unknown roles are nobody's."""
    origins = [
        message.origin for message in chat(SYSTEM, USER, CALL, RESULT, {"role": "x"}).messages
    ]
    operator = Origin.OPERATOR
    assert origins == [operator, operator, Origin.AGENT, Origin.TOOL, Origin.UNKNOWN]
    body = b'{"messages":[{"role":"user","content":"u"},{"role":"system","content":"file"}]}'
    anthropic = ALL["anthropic_messages"].view(read(body))
    assert [message.origin for message in anthropic.messages] == [operator, Origin.UNKNOWN]
    assert anthropic.unknown == ()


@pytest.mark.parametrize(
    ("item", "origin", "ends_run"),
    [
        ({"type": "message", "role": "assistant"}, Origin.AGENT, True),
        ({"role": "user", "content": "u"}, Origin.OPERATOR, False),
        ({"type": "reasoning", "summary": []}, Origin.AGENT, True),
        ({"type": "function_call", "call_id": "c", "name": "f"}, Origin.AGENT, True),
        ({"type": "function_call_output", "call_id": "c"}, Origin.TOOL, False),
        ({"type": "tool_search_output", "execution": "client"}, Origin.TOOL, False),
        ({"type": "tool_search_output", "execution": "server"}, Origin.AGENT, True),
        ({"type": "mcp_approval_response", "approval_request_id": "r"}, Origin.OPERATOR, False),
        ({"type": "configuration_update"}, Origin.OPERATOR, False),
        ({"type": "item_reference", "id": "i"}, Origin.UNKNOWN, True),
        ({"id": "i"}, Origin.UNKNOWN, True),
        ({"type": "brand_new"}, Origin.UNKNOWN, False),
    ],
)
def test_origin_of_response_items(item: object, origin: Origin, ends_run: bool) -> None:
    """Items of the vendor's side end a run; what the client writes stands in one."""
    body = json.dumps({"input": [{"role": "user", "content": "u"}, item]}).encode()
    conversation = ALL["openai_responses"].view(read(body))
    assert conversation.messages[1].origin is origin
    assert (conversation.runs[-1].stop == 1) is ends_run
