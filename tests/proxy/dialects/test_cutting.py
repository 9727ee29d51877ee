"""What a cut takes out of a body, byte for byte, and where a notice is put, in every dialect."""

import json
from typing import Any

import pytest

from policies.cut import Cut, Window
from policies.decision import Claimed, Decision, Leg
from policies.minimality import plan
from policies.settings import Minimality
from policies.showing import show
from proxy.dialects import ALL
from proxy.dialects.cutting import Opening
from proxy.lazyjson import read

LONG = "found " * 200


def cut(name: str, body: dict[str, Any] | bytes, mode: str, strategy: str = "drop") -> bytes:
    """The body as it leaves."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    dialect, document = ALL[name], read(raw)
    shown = show(dialect.view(document), None, Minimality(mode, strategy))  # type: ignore[arg-type]
    assert hasattr(shown, "cut"), shown
    decision = Decision(Leg.CLOUD, cut=shown.cut)
    return dialect.render(document, shown.seen, decision, Claimed({}))


def messages(name: str, body: dict[str, Any], mode: str, strategy: str = "drop") -> list[Any]:
    sent = json.loads(cut(name, body, mode, strategy))
    return sent["input" if name == "openai_responses" else "messages"]


CLAUDE = {
    "model": "m",
    "tools": [{"name": "Read"}],
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "base64", "data": "aGk="}},
                {"type": "document", "source": {"type": "text", "data": "third party"}},
            ],
        },
        {"role": "system", "content": "mentioned file"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "", "signature": "x"},
                {"type": "text", "text": "looking", "citations": [{"cited_text": "third party"}]},
                {"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "secret"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": LONG, "is_error": False},
                {"type": "text", "text": "and quick"},
            ],
        },
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "next"},
    ],
}


def test_claude_strict() -> None:
    """The notice as a user's message, then the turn."""
    first, second = messages("anthropic_messages", CLAUDE, "strict")
    assert first["role"] == "user"
    assert first["content"].startswith("[dropped history — 5 ")
    assert "(Read)" in first["content"]
    assert second == {"role": "user", "content": "next"}


def test_claude_dialogue() -> None:
    """Words alone, cache marks where they were; the notice is the first part of the turn."""
    sent = messages("anthropic_messages", CLAUDE, "dialogue")
    assert sent[0] == {"role": "user", "content": [CLAUDE["messages"][0]["content"][0]]}  # type: ignore[index]
    assert sent[1] == {"role": "assistant", "content": [{"type": "text", "text": "looking"}]}
    assert sent[2] == {"role": "user", "content": [{"type": "text", "text": "and quick"}]}
    assert sent[3] == {"role": "assistant", "content": "done"}
    assert sent[4] == {"role": "user", "content": "next"}
    assert len(sent) == 5


def test_claude_elided() -> None:
    """Pairs stay, ids and errors with them, and nothing of what was asked or found."""
    sent = messages("anthropic_messages", CLAUDE, "strict", "elide")
    call, result = sent[1]["content"], sent[2]["content"]
    assert call == [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]
    assert [block["tool_use_id"] for block in result] == ["t1"]
    assert result[0]["is_error"] is False
    assert LONG not in json.dumps(sent)


CHAT = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "read"}}],
    "messages": [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url"}]},
        {
            "role": "assistant",
            "content": "looking",
            "reasoning_content": "hm",
            "annotations": [],
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"p":1}'},
                },
                {
                    "id": "b",
                    "type": "function",
                    "function": {"name": "gone", "arguments": '{"p":2}'},
                },
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": LONG},
        {"role": "tool", "tool_call_id": "b", "content": LONG},
        {"role": "assistant", "content": None, "refusal": "no"},
        {"role": "user", "content": "next"},
    ],
}


def test_chat_dialogue() -> None:
    """Members that are no words go; the notice stands before the words of the turn."""
    sent = messages("openai_chat", CHAT, "dialogue")
    assert sent[1] == {"role": "user", "content": [{"type": "text", "text": "look"}]}
    assert sent[2] == {"role": "assistant", "content": "looking", "annotations": []}
    assert sent[3] == {"role": "assistant", "content": None, "refusal": "no"}
    assert sent[4]["content"].startswith("[dropped history — 2 ")
    assert sent[4]["content"].endswith("]\n\nnext")
    assert "(read)" in sent[4]["content"]


def test_chat_elided() -> None:
    """Of two calls in one message the one stays whose tool is granted now."""
    sent = messages("openai_chat", CHAT, "dialogue", "elide")
    (call,) = sent[2]["tool_calls"]
    assert call["function"] == {"name": "read", "arguments": "{}"}
    assert [m["tool_call_id"] for m in sent if m["role"] == "tool"] == ["a"]


RESPONSES = {
    "model": "m",
    "tools": [{"type": "function", "name": "read"}, {"type": "custom", "name": "exec"}],
    "input": [
        {"role": "developer", "content": "d"},
        {"type": "message", "id": "msg_1", "role": "user", "content": "look"},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "x", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": "{1}"},
        {"type": "function_call_output", "call_id": "a", "output": LONG},
        {"type": "custom_tool_call", "call_id": "b", "name": "exec", "input": "cat"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text"}]},
        {"type": "web_search_call", "id": "ws_1", "action": {"query": "x"}},
        {
            "type": "message",
            "id": "msg_2",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "done", "annotations": [{"url": "x"}]}],
        },
        {"type": "message", "role": "user", "content": "next"},
    ],
}


def test_responses_dialogue() -> None:
    """Messages alone; a string of the turn becomes parts, the notice first."""
    sent = messages("openai_responses", RESPONSES, "dialogue")
    assert [item.get("id", item["role"]) for item in sent] == [
        "developer",
        "msg_1",
        "msg_2",
        "user",
    ]
    assert sent[2]["content"] == [{"type": "output_text", "text": "done"}]
    notice, words = sent[3]["content"]
    assert notice["type"] == words["type"] == "input_text"
    assert notice["text"].startswith("[dropped history — 6 ")
    assert words["text"] == "next"


def test_responses_strict_and_elided() -> None:
    """The notice is an item with a type; pairs are emptied, reasoning goes."""
    sent = messages("openai_responses", RESPONSES, "strict", "elide")
    assert sent[1]["type"] == "message"
    assert sent[1]["content"][0]["text"].startswith("[dropped history")
    kinds = [item["type"] for item in sent[2:-1]]
    assert kinds == [item["type"] for item in RESPONSES["input"][3:7]]  # type: ignore[index]
    assert [sent[2]["arguments"], sent[4]["input"]] == ["{}", ""]
    assert LONG not in json.dumps(sent)


OLLAMA = {
    "model": "m",
    "tools": [{"type": "function", "function": {"name": "read"}}],
    "messages": [
        {"role": "user", "content": "look", "images": ["aGk="]},
        {
            "role": "assistant",
            "content": "",
            "thinking": "hm",
            "tool_calls": [{"function": {"name": "read", "arguments": {"p": 1}}}],
        },
        {"role": "tool", "tool_name": "read", "content": LONG},
        {"role": "assistant", "content": "done", "thinking": "hm"},
        {"role": "user", "content": "next", "images": ["aGk="]},
    ],
}


def test_ollama() -> None:
    """Pictures and thinking of earlier turns go; those of the turn stay."""
    sent = messages("ollama_chat", OLLAMA, "dialogue")
    assert sent[:2] == [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "done"},
    ]
    assert sent[2]["images"] == ["aGk="]
    assert sent[2]["content"].endswith("\n\nnext")
    elided = messages("ollama_chat", OLLAMA, "dialogue", "elide")
    assert elided[1]["tool_calls"] == [{"function": {"name": "read", "arguments": {}}}]
    assert elided[2]["role"] == "tool"


@pytest.mark.parametrize("mode", ["strict", "dialogue"])
def test_what_stays_is_byte_for_byte_what_came(mode: str) -> None:
    """Numbers, escapes and white space of what is not cut are the client's own."""
    turn = b'{ "role":"user" , "content":"caf\\u00e9 next" ,"n": 1E400}'
    raw = (
        b'{"model":"m","big":123456789012345678901234567890, "messages" : [ {"role":"user",'
        b'"content":"caf\\u00e9"},  {"role":"assistant","content":"x","reasoning":"hm"} ,\n'
        + turn
        + b" ] }"
    )
    sent = cut("openai_chat", raw, mode)
    assert turn in sent
    assert b'"big":123456789012345678901234567890' in sent
    assert (b'{"role":"user","content":"caf\\u00e9"}' in sent) is (mode == "dialogue")
    assert b"reasoning" not in sent


def test_nothing_to_cut_is_the_identical_body() -> None:
    """A first turn leaves as it came."""
    raw = json.dumps({"messages": CHAT["messages"][:2]}).encode()
    assert cut("openai_chat", raw, "strict") is not None
    assert json.loads(cut("openai_chat", raw, "strict")) == json.loads(raw)
    document = read(raw)
    seen = ALL["openai_chat"].view(document)
    found = plan(seen, Window("strict"))
    assert isinstance(found, Cut)
    decision = Decision(Leg.CLOUD, cut=found)
    assert ALL["openai_chat"].render(document, seen, decision, Claimed({})) is raw


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"role": "user"}, "told"),
        ({"role": "user", "content": None}, "told"),
        ({"role": "user", "content": ""}, "told"),
        ({"role": "user", "content": []}, [{"type": "text", "text": "told"}]),
        ({"role": "user", "content": "x"}, "told\n\nx"),
    ],
)
def test_a_notice_before_whatever_a_message_says(message: dict[str, Any], content: Any) -> None:
    """Also where it says nothing."""
    raw = Opening("text").before(json.dumps(message).encode(), "told")
    assert json.loads(raw)["content"] == content
