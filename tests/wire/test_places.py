"""Every place of the wire where third-party text can stand: framed where it may be, else untouched.

One row per place of the tables of request fields (Anthropic Messages, Chat, Responses, Ollama). A
row holds one message with the text `HERE` in it, as often as the place has text. "Yes": each of
them becomes a frame and nothing else of the message changes, not even a byte of its numbers or
escapes. "No": the message leaves byte for byte.
"""

import json
from typing import Any

import pytest

from policies.decision import Claimed, Decision, Frame, FrameRow, Leg
from policies.envelope import wrap_untrusted
from proxy.dialects import ALL
from proxy.lazyjson import read

HERE = "What the third party wrote."
NONCE = "0123456789abcdef" * 2
CLAUDE, CHAT, RESPONSES, OLLAMA = (
    "anthropic_messages",
    "openai_chat",
    "openai_responses",
    "ollama_chat",
)
TEXT = {"type": "text", "text": HERE}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}


def user(*blocks: object) -> object:
    return {"role": "user", "content": list(blocks)}


def model(*blocks: object) -> object:
    return {"role": "assistant", "content": list(blocks)}


def result(content: object, **fields: object) -> object:
    return user({"type": "tool_result", "tool_use_id": "t", "content": content, **fields})


def document(source: object, **fields: object) -> object:
    return {"type": "document", "source": source, **fields}


def search(*texts: object, **fields: object) -> object:
    return {"type": "search_result", "source": "s", "title": "t", "content": list(texts), **fields}


PLAIN = {"type": "text", "media_type": "text/plain", "data": HERE}
CACHED = {**TEXT, "cache_control": {"type": "ephemeral"}}
CITED = {"citations": {"enabled": True}}

YES: dict[str, tuple[str, Any]] = {
    "tool_result, string": (CLAUDE, result(HERE)),
    "tool_result, error": (CLAUDE, result(HERE, is_error=True)),
    "tool_result, text items": (CLAUDE, result([TEXT, IMAGE, CACHED])),
    "tool_result, of a toolset": (CLAUDE, result([TEXT], toolset_name="browser")),
    "tool_result, search_result": (CLAUDE, result([search(TEXT, CACHED)])),
    "tool_result, cited search_result": (CLAUDE, result([search(TEXT, TEXT, **CITED)])),
    "tool_result, document of text": (CLAUDE, result([document(PLAIN, title="t", context="c")])),
    "tool_result, document of a string": (
        CLAUDE,
        result([document({"type": "content", "content": HERE})]),
    ),
    "tool_result, document of blocks": (
        CLAUDE,
        result([document({"type": "content", "content": [TEXT, IMAGE]}, **CITED)]),
    ),
    "user document of text": (CLAUDE, user(document(PLAIN, title="t"), {**TEXT, "text": "go"})),
    "user document of blocks": (CLAUDE, user(document({"type": "content", "content": [TEXT]}))),
    "user search_result": (CLAUDE, user(search(TEXT, TEXT, **CITED))),
    "parallel results": (
        CLAUDE,
        user(
            {"type": "tool_result", "tool_use_id": "a", "content": HERE},
            {"type": "tool_result", "tool_use_id": "b", "content": [TEXT], "is_error": True},
        ),
    ),
    "tool message, string": (CHAT, {"role": "tool", "tool_call_id": "t", "content": HERE}),
    "tool message, parts": (CHAT, {"role": "tool", "tool_call_id": "t", "content": [TEXT, CACHED]}),
    "tool message, refusal": (
        CHAT,
        {"role": "tool", "tool_call_id": "t", "content": [{"type": "refusal", "refusal": HERE}]},
    ),
    "function message": (CHAT, {"role": "function", "name": "f", "content": HERE}),
    "function output, string": (
        RESPONSES,
        {"type": "function_call_output", "call_id": "t", "output": HERE},
    ),
    "function output, parts": (
        RESPONSES,
        {
            "type": "function_call_output",
            "call_id": "t",
            "output": [
                {"type": "input_text", "text": HERE},
                {"type": "input_image", "image_url": "https://example.test/i.png"},
                {"type": "input_file", "file_data": "JVBERi0="},
            ],
        },
    ),
    "function output, parts as a model writes them": (
        RESPONSES,
        {
            "type": "function_call_output",
            "call_id": "t",
            "output": [
                {"type": "output_text", "text": HERE, "annotations": []},
                {"type": "refusal", "refusal": HERE},
            ],
        },
    ),
    "custom tool output, string": (
        RESPONSES,
        {"type": "custom_tool_call_output", "call_id": "t", "output": HERE},
    ),
    "custom tool output, parts": (
        RESPONSES,
        {
            "type": "custom_tool_call_output",
            "call_id": "t",
            "output": [{"type": "input_text", "text": HERE}, {"type": "input_text", "text": HERE}],
        },
    ),
    "local shell output, no JSON": (
        RESPONSES,
        {"type": "local_shell_call_output", "id": "t", "output": HERE},
    ),
    "local shell output, JSON": (
        RESPONSES,
        {
            "type": "local_shell_call_output",
            "id": "t",
            "output": json.dumps({"output": HERE, "metadata": {"exit_code": 0, "notes": [HERE]}}),
        },
    ),
    "shell output": (
        RESPONSES,
        {
            "type": "shell_call_output",
            "call_id": "t",
            "output": [{"stdout": HERE, "stderr": HERE, "outcome": {"type": "timeout"}}],
        },
    ),
    "patch output": (
        RESPONSES,
        {"type": "apply_patch_call_output", "call_id": "t", "status": "failed", "output": HERE},
    ),
    "ollama tool, named": (OLLAMA, {"role": "tool", "tool_name": "f", "content": HERE}),
    "ollama tool, with id and pictures": (
        OLLAMA,
        {"role": "tool", "tool_call_id": "t", "content": HERE, "images": ["iVBO"]},
    ),
    "ollama tool, old": (OLLAMA, {"role": "tool", "content": HERE}),
}

SERVER = {
    "web_search_tool_result": [
        {"type": "web_search_result", "title": HERE, "url": "u", "encrypted_content": "ZW5j"}
    ],
    "web_fetch_tool_result": {
        "type": "web_fetch_result",
        "url": "u",
        "content": document(PLAIN),
    },
    "code_execution_tool_result": {"type": "code_execution_result", "stdout": HERE, "stderr": ""},
    "bash_code_execution_tool_result": {
        "type": "bash_code_execution_result",
        "stdout": HERE,
        "return_code": 0,
    },
    "text_editor_code_execution_tool_result": {
        "type": "text_editor_code_execution_view_result",
        "content": HERE,
    },
    "tool_search_tool_result": {
        "type": "tool_search_tool_search_result",
        "tool_references": [{"type": "tool_reference", "tool_name": "x"}],
    },
    "advisor_tool_result": {"type": "advisor_result", "text": HERE},
    "mcp_tool_result": [TEXT],
}

ITEMS: dict[str, object] = {
    "mcp_call": {"name": "n", "server_label": "s", "arguments": "{}", "output": HERE},
    "mcp_list_tools": {"server_label": "s", "tools": [{"name": "n", "description": HERE}]},
    "tool_search_output": {"call_id": "t", "execution": "server", "tools": [{"name": HERE}]},
    "additional_tools": {"role": "developer", "tools": [{"type": "custom", "name": HERE}]},
    "web_search_call": {"status": "completed", "action": {"type": "search", "query": HERE}},
    "file_search_call": {"queries": ["q"], "results": [{"text": HERE}]},
    "code_interpreter_call": {"code": "1", "outputs": [{"type": "logs", "logs": HERE}]},
    "image_generation_call": {"result": "iVBO", "status": "completed"},
    "computer_call_output": {"call_id": "t", "output": {"type": "computer_screenshot"}},
    "program": {"call_id": "t", "code": HERE, "fingerprint": "Zg=="},
    "program_output": {"call_id": "t", "result": HERE},
    "reasoning": {"summary": [{"type": "summary_text", "text": HERE}], "encrypted_content": "ZW5j"},
    "compaction": {"encrypted_content": "ZW5j"},
    "function_call": {"call_id": "t", "name": "f", "arguments": json.dumps({"x": HERE})},
    "custom_tool_call": {"call_id": "t", "name": "f", "input": HERE},
    "item_reference": {"id": "msg_1"},
}

NO: dict[str, tuple[str, Any]] = {
    **{
        kind: (CLAUDE, model({"type": kind, "tool_use_id": "t", "content": content}))
        for kind, content in SERVER.items()
    },
    **{kind: (RESPONSES, {"type": kind, **fields}) for kind, fields in ITEMS.items()},
    "user text": (CLAUDE, user(TEXT)),
    "user string": (CLAUDE, {"role": "user", "content": HERE}),
    "user image": (CLAUDE, user(IMAGE)),
    "tool_reference": (CLAUDE, result([{"type": "tool_reference", "tool_name": "WebFetch"}])),
    "browser_state": (
        CLAUDE,
        result([{"type": "browser_state", "tabs": [{"title": HERE}], "state_changes": []}]),
    ),
    "picture as a result": (CLAUDE, result([IMAGE])),
    "result without content": (CLAUDE, user({"type": "tool_result", "tool_use_id": "t"})),
    "document of a PDF": (
        CLAUDE,
        user(
            document(
                {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}, title=HERE
            )
        ),
    ),
    "document by address": (CLAUDE, result([document({"type": "url", "url": HERE})])),
    "document by id": (CLAUDE, user(document({"type": "file", "file_id": "file_1"}))),
    "system message, string": (CLAUDE, {"role": "system", "content": HERE}),
    "system message, list": (CLAUDE, {"role": "system", "content": [TEXT]}),
    "thinking": (CLAUDE, model({"type": "thinking", "thinking": HERE, "signature": "c2ln"})),
    "redacted thinking": (CLAUDE, model({"type": "redacted_thinking", "data": "ZGF0YQ=="})),
    "text of the model": (CLAUDE, model({**TEXT, "citations": [{"cited_text": HERE}]})),
    "arguments of a call": (
        CLAUDE,
        model({"type": "tool_use", "id": "t", "name": "f", "input": {"x": HERE}}),
    ),
    "tool listing": (
        CLAUDE,
        model({"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": [{"name": HERE}]}),
    ),
    "compaction block": (CLAUDE, user({"type": "compaction", "content": HERE, "signature": "c2"})),
    "fallback block": (CLAUDE, model({"type": "fallback", "from": {}, "to": {}, "trigger": {}})),
    "chat user, string": (CHAT, {"role": "user", "content": HERE}),
    "chat user, parts": (CHAT, {"role": "user", "content": [TEXT]}),
    "chat user, file": (
        CHAT,
        {"role": "user", "content": [{"type": "file", "file": {"file_data": "JVBE"}}]},
    ),
    "chat system, anywhere": (CHAT, {"role": "system", "content": HERE}),
    "chat developer": (CHAT, {"role": "developer", "content": [TEXT]}),
    "chat model": (
        CHAT,
        {"role": "assistant", "content": HERE, "reasoning_content": HERE, "annotations": []},
    ),
    "chat calls": (
        CHAT,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "t", "type": "function", "function": {"name": "f", "arguments": HERE}}
            ],
        },
    ),
    "responses user": (
        RESPONSES,
        {"role": "user", "content": [{"type": "input_text", "text": HERE}]},
    ),
    "responses developer": (RESPONSES, {"type": "message", "role": "developer", "content": HERE}),
    "responses model": (
        RESPONSES,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": HERE, "annotations": []}],
        },
    ),
    "ollama user": (OLLAMA, {"role": "user", "content": HERE, "images": ["iVBO"]}),
    "ollama system": (OLLAMA, {"role": "system", "content": HERE}),
    "ollama model": (
        OLLAMA,
        {
            "role": "assistant",
            "content": HERE,
            "thinking": HERE,
            "tool_calls": [{"function": {"name": "f", "arguments": {"x": HERE}}}],
        },
    ),
}


def sent(dialect: str, message: bytes) -> bytes:
    """The message of a body that has a member before and behind its list, with all units framed."""
    key = "input" if dialect == RESPONSES else "messages"
    head, tail = b'{"model": "m", "' + key.encode() + b'": [ ', b' ], "temperature": 1.50}'
    document = read(head + message + tail)
    seen = ALL[dialect].view(document)
    row = FrameRow(NONCE, "f", intro=False)
    rows = dict.fromkeys(range(len(seen.units)), row)
    frames = tuple(Frame(number, row, known=True) for number in rows)
    body = ALL[dialect].render(document, seen, Decision(Leg.CLOUD, frames), Claimed(rows))
    assert body.startswith(head)
    assert body.endswith(tail)
    return body[len(head) : -len(tail)]


@pytest.mark.parametrize("place", YES)
@pytest.mark.parametrize("indent", [None, 1])
def test_text_of_third_parties_is_framed(place: str, indent: int | None) -> None:
    """Each text of the row, and nothing beside it: ids, errors, pictures, cache marks, order."""
    dialect, message = YES[place]
    raw = json.dumps(message, indent=indent).encode()
    framed = json.dumps(wrap_untrusted("f", HERE, draw=lambda: NONCE))[1:-1]
    expected = raw.replace(HERE.encode(), framed.encode())
    if place == "local shell output, JSON":
        inner = json.dumps(json.loads(message["output"])).replace(HERE, framed)
        expected = json.dumps({**message, "output": inner}, indent=indent).encode()
    assert HERE.encode() in raw
    assert sent(dialect, raw) == expected


@pytest.mark.parametrize("place", NO)
@pytest.mark.parametrize("indent", [None, 1])
def test_all_else_leaves_byte_for_byte(place: str, indent: int | None) -> None:
    """Words of the operator and the model, vendor's blocks, references, pictures, ids."""
    dialect, message = NO[place]
    raw = json.dumps(message, indent=indent).encode()
    assert sent(dialect, raw) == raw


@pytest.mark.parametrize("place", [*YES, *NO])
def test_every_place_is_known(place: str) -> None:
    """No row leans on the tolerance for what a dialect does not know."""
    dialect, message = {**YES, **NO}[place]
    key = "input" if dialect == RESPONSES else "messages"
    assert ALL[dialect].view(read(json.dumps({key: [message]}).encode())).unknown == ()
