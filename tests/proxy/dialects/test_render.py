"""Render: where the policy text goes, what is refused, and that nothing else changes."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.decision import Claimed, Decision, Frame, FrameRow, Leg, Screened
from policies.envelope import POLICY_TEXT, wrap_untrusted
from policies.prove import prove
from proxy.dialects import ALL
from proxy.dialects.placing import BLANK_LINE, SCAFFOLD
from proxy.errors import Refused
from proxy.lazyjson import read

NONCE = "0123456789abcdef" * 2
ROW = FrameRow(NONCE, "f", intro=False)
NOTHING = Decision(Leg.CLOUD)
PLACED = Decision(Leg.CLOUD, policy_text=POLICY_TEXT)
BLOCK = {"type": "text", "text": POLICY_TEXT}


def render(
    dialect: str, body: bytes, decision: Decision = PLACED, rows: dict[int, FrameRow] | None = None
) -> bytes:
    document = read(body)
    conversation = ALL[dialect].view(document)
    return ALL[dialect].render(document, conversation, decision, Claimed(rows or {}))


def placed(dialect: str, body: object) -> Any:
    return json.loads(render(dialect, json.dumps(body).encode()))


@pytest.mark.parametrize("dialect", sorted(ALL))
def test_nothing_to_do_gives_the_identical_bytes(dialect: str) -> None:
    """Not equal bytes: the very object that came."""
    body = b'{ "model":"m","messages":[ {"role":"tool","content":"r"}],"input":[1e5] }'
    document = read(body)
    conversation = ALL[dialect].view(document)
    assert ALL[dialect].render(document, conversation, NOTHING, Claimed({})) is document.body


@pytest.mark.parametrize("dialect", [name for name in ALL if name.startswith("plain_text")])
def test_text_endpoints_have_no_place_for_our_text(dialect: str) -> None:
    """A prompt is not a conversation: nothing is framed, nothing is placed."""
    body = b'{"model":"m","prompt":"p"}'
    assert render(dialect, body) == body


@pytest.mark.parametrize(
    ("system", "becomes"),
    [
        ("S", [{"type": "text", "text": "S"}, BLOCK]),
        ([], [BLOCK]),
        ([{"type": "text", "text": "S"}], [{"type": "text", "text": "S"}, BLOCK]),
        (None, [BLOCK]),
        ("", POLICY_TEXT),
        (" \n", f" \n{BLANK_LINE}{POLICY_TEXT}"),
        (7, 7),
        ({"type": "text"}, {"type": "text"}),
    ],
)
def test_place_in_an_anthropic_body(system: object, becomes: object) -> None:
    """A further block at the end of `system`; no block without text is made; a shape that the
    dialect does not know is left for the upstream to refuse."""
    body = {"system": system, "messages": [{"role": "user", "content": "u"}]}
    assert placed("anthropic_messages", body) == {**body, "system": becomes}


def test_an_absent_system_is_added_at_the_end() -> None:
    """The members that came keep their places."""
    sent = placed("anthropic_messages", {"model": "m", "messages": []})
    assert list(sent) == ["model", "messages", "system"]
    assert sent["system"] == [BLOCK]


def test_a_system_string_keeps_its_bytes() -> None:
    """Escapes of the client stay as it wrote them."""
    sent = render("anthropic_messages", b'{"system" :"caf\\u00e9 \\/","messages":[]}')
    assert b'[{"type":"text","text":"caf\\u00e9 \\/"},{"type":"text"' in sent


@pytest.mark.parametrize("dialect", ["openai_chat", "ollama_chat"])
@pytest.mark.parametrize(
    ("roles", "index", "role"),
    [
        ([], 0, "system"),
        (["user"], 0, "system"),
        (["system", "user", "system"], 1, "system"),
        (["System"], 1, "system"),
        (["system", "system", "user"], 2, "system"),
        (["assistant", "system"], 0, "system"),
    ],
)
def test_place_in_a_list_of_messages(dialect: str, roles: list[str], index: int, role: str) -> None:
    """An own message right behind the leading run, in front of everything if there is none."""
    messages = [{"role": name, "content": name} for name in roles]
    sent = placed(dialect, {"messages": messages})["messages"]
    assert sent[index] == {"role": role, "content": POLICY_TEXT}
    assert sent[:index] + sent[index + 1 :] == messages


def test_the_message_takes_the_role_of_the_last_leading_one() -> None:
    """Where a client says `developer`, so do we."""
    messages = [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}]
    assert placed("openai_chat", {"messages": messages})["messages"][2]["role"] == "developer"


@pytest.mark.parametrize("body", [{}, {"messages": "text"}, {"messages": None}])
def test_without_a_list_of_messages_nothing_is_placed(body: object) -> None:
    """The upstream will refuse such a body; it gets it as it came."""
    for dialect in ("openai_chat", "ollama_chat"):
        assert placed(dialect, body) == body


DEVELOPER = {
    "type": "message",
    "role": "developer",
    "content": [{"type": "input_text", "text": POLICY_TEXT}],
}
TOOLS = {"type": "additional_tools", "role": "developer", "tools": []}


@pytest.mark.parametrize(
    ("body", "member", "becomes"),
    [
        ({"input": []}, "input", [DEVELOPER]),
        ({"input": [{"role": "user"}]}, "input", [DEVELOPER, {"role": "user"}]),
        (
            {"input": [TOOLS, {"role": "developer"}, {"role": "user"}]},
            "input",
            [TOOLS, {"role": "developer"}, DEVELOPER, {"role": "user"}],
        ),
        (
            {"input": [{"type": "additional_tools"}, {"role": "user"}]},
            "input",
            [{"type": "additional_tools"}, DEVELOPER, {"role": "user"}],
        ),
        (
            {"instructions": "I", "input": [{"role": "system"}]},
            "input",
            [{"role": "system"}, DEVELOPER],
        ),
        ({"instructions": "I", "input": [{"role": "user"}]}, "instructions", f"I\n\n{POLICY_TEXT}"),
        ({"instructions": None, "input": []}, "input", [DEVELOPER]),
        ({"instructions": "I", "input": "text"}, "instructions", f"I\n\n{POLICY_TEXT}"),
        ({"instructions": "", "input": "text"}, "instructions", POLICY_TEXT),
        ({"instructions": None, "input": "text"}, "instructions", POLICY_TEXT),
        ({"input": "text"}, "instructions", POLICY_TEXT),
        ({"prompt": {"id": "p"}}, "instructions", POLICY_TEXT),
        ({"instructions": 7, "input": "text"}, "instructions", 7),
    ],
)
def test_place_in_a_responses_body(body: dict[str, Any], member: str, becomes: object) -> None:
    """Behind the leading items, else in the instructions; nowhere else."""
    assert placed("openai_responses", body) == {**body, member: becomes}


@pytest.mark.parametrize("dialect", ALL)
def test_what_is_placed_is_scaffold_and_authored_text(dialect: str) -> None:
    """Every key and string that render adds is in `SCAFFOLD`, or the text itself."""

    def strings(value: object) -> set[str]:
        if isinstance(value, dict):
            return {*value, *(s for inner in value.values() for s in strings(inner))}
        if isinstance(value, list):
            return {s for inner in value for s in strings(inner)}
        return {value} if isinstance(value, str) else set()

    for body in ({"messages": [], "input": []}, {"messages": [], "input": "", "system": ""}):
        added = strings(placed(dialect, body)) - {"messages", "input", ""}
        assert added <= SCAFFOLD | {POLICY_TEXT}


TOOL = b'{"messages":[{"role":"tool","content":"text"},{"role":"tool","content":"more"}]}'


def test_only_the_units_of_the_decision_are_framed() -> None:
    """The others leave as they came."""
    decision = Decision(Leg.CLOUD, (Frame(1, ROW, known=False),))
    sent = json.loads(render("openai_chat", TOOL, decision, {1: ROW}))["messages"]
    assert sent[0]["content"] == "text"
    assert sent[1]["content"] == wrap_untrusted("f", "more", draw=lambda: NONCE)


def test_the_row_that_was_claimed_beats_the_candidate() -> None:
    """Whoever came first wrote the nonce that holds."""
    winner = FrameRow("f" * 32, "g", intro=True)
    decision = Decision(Leg.CLOUD, (Frame(0, ROW, known=False),))
    sent = render("openai_chat", TOOL, decision, {0: winner})
    assert b"nonce=" + b"f" * 32 + b" field=g" in sent
    assert NONCE.encode() not in sent


@pytest.mark.parametrize(
    "rows",
    [
        {},
        {0: FrameRow("short", "f", intro=False)},
        {0: FrameRow("x" * 32, "f", intro=False)},
    ],
)
def test_a_unit_that_cannot_be_framed_refuses_the_request(rows: dict[int, FrameRow]) -> None:
    """No row, or a row that makes no frame: the text never leaves bare."""
    decision = Decision(Leg.CLOUD, (Frame(0, ROW, known=False),))
    with pytest.raises(Refused) as refused:
        render("openai_chat", TOOL, decision, rows)
    assert refused.value.code == "framing-failed"


def test_text_that_holds_the_nonce_refuses_the_request() -> None:
    """Whoever wrote the nonce into a result knew it."""
    body = json.dumps({"messages": [{"role": "tool", "content": f"x {NONCE}"}]}).encode()
    with pytest.raises(Refused):
        render("openai_chat", body, Decision(Leg.CLOUD, (Frame(0, ROW, known=False),)), {0: ROW})


def test_half_a_surrogate_stays_an_escape() -> None:
    """On a local leg such text passes; the frame around it is valid UTF-8."""
    body = b'{"messages":[{"role":"tool","content":"a\\ud800b"}],"seed":1e400}'
    decision = Decision(Leg.LOCAL, (Frame(0, ROW, known=False),))
    sent = render("openai_chat", body, decision, {0: ROW})
    assert b"a\\ud800b" in sent
    assert b'"seed":1e400' in sent
    sent.decode()
    shell = json.dumps({"output": "x\ud800"})
    body = json.dumps({"input": [{"type": "local_shell_call_output", "output": shell}]}).encode()
    inner = json.loads(render("openai_responses", body, decision, {0: ROW}))["input"][0]["output"]
    assert json.loads(inner)["output"] == wrap_untrusted("f", "x\ud800", draw=lambda: NONCE)


VALUES = st.recursive(
    st.sampled_from(["", "x", "TRANSOM_DATA", "\U0001d54b", '{"a":"b"}', "\u00a0"]) | st.none(),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)


def anthropic_result(value: object) -> object:
    return {"role": "user", "content": [{"type": "tool_result", "content": value}]}


@pytest.mark.parametrize(
    ("dialect", "key", "message"),
    [
        ("openai_chat", "messages", lambda v: {"role": "tool", "content": v, "n": 1.50}),
        ("ollama_chat", "messages", lambda v: {"content": v, "role": "tool"}),
        ("anthropic_messages", "messages", anthropic_result),
        ("openai_responses", "input", lambda v: {"type": "local_shell_call_output", "output": v}),
        ("openai_responses", "input", lambda v: {"type": "function_call_output", "output": v}),
    ],
)
@given(values=st.lists(VALUES, max_size=4), system=VALUES)
@settings(max_examples=40)
def test_the_proof_accounts_for_every_rewritten_body(
    dialect: str,
    key: str,
    message: Callable[[object], object],
    values: list[object],
    system: object,
) -> None:
    """Whatever a result is, what render makes of it is what the independent reader expects."""
    sample = {key: [message(value) for value in values], "system": system, "instructions": system}
    body = json.dumps(sample, ensure_ascii=False).encode()
    document = read(body)
    conversation = ALL[dialect].view(document)
    rows = {
        number: FrameRow(f"{number:032x}", "f", intro=number == 0)
        for number, _ in enumerate(conversation.units)
    }
    frames = tuple(Frame(number, row, known=False) for number, row in rows.items())
    decision = Decision(Leg.CLOUD, frames, policy_text=POLICY_TEXT)
    sent = ALL[dialect].render(document, conversation, decision, Claimed(rows))
    cleared = prove(
        sent,
        client_body=body,
        screened=Screened(frozenset(p.digest for p in conversation.pieces)),
        texts={number: unit.text for number, unit in enumerate(conversation.units)},
        claimed=Claimed(rows),
        authored={POLICY_TEXT},
    )
    assert cleared.body == sent
