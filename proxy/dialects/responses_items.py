"""Reading one item of a Responses `input`: which kinds there are, where third-party text stands.

Owns the tables of known items and parts (wire.md 1.3; the SDK's request types) and the places that
may be framed. It must not know how a frame is written.

Framed are the outputs of calls that the client carried out. Never: messages, reasoning, items that
the vendor's side made (`mcp_call`, `web_search_call`, …), tool listings, screenshots, ids.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from policies.conversation import Form, Origin, ToolCall
from proxy.dialects.notes import Notes, json_text, words
from proxy.dialects.opened import Fields, Opened
from proxy.dialects.responses_parts import TEXTS, part, qualified, tool_names
from proxy.dialects.responses_results import RESULTS, Reader

_EVERYWHERE = "type id status internal_chat_message_metadata_passthrough"

_ITEMS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        kind: words(f"{_EVERYWHERE} {fields}")
        for kind, fields in {
            "message": "role content phase name",
            "additional_tools": "role tools",
            "function_call": "call_id name namespace arguments caller async",
            "function_call_output": "call_id name namespace output caller",
            "custom_tool_call": "call_id name namespace input caller async",
            "custom_tool_call_output": "call_id name namespace output caller",
            "local_shell_call": "call_id action",
            "local_shell_call_output": "call_id output",
            "shell_call": "call_id action caller environment",
            "shell_call_output": "call_id output caller max_output_length",
            "apply_patch_call": "call_id operation caller",
            "apply_patch_call_output": "call_id output caller",
            "computer_call": "call_id action actions pending_safety_checks",
            "computer_call_output": "call_id output acknowledged_safety_checks",
            "tool_search_call": "call_id arguments execution",
            "tool_search_output": "call_id tools execution",
            "reasoning": "summary content encrypted_content",
            "compaction": "encrypted_content",
            "compaction_trigger": "",
            "configuration_update": "reasoning text",
            "item_reference": "",
            "web_search_call": "action",
            "file_search_call": "queries results",
            "code_interpreter_call": "code container_id outputs",
            "image_generation_call": "action background error output_format quality result "
            "revised_prompt size svg_usage",
            "mcp_list_tools": "server_label tools error",
            "mcp_approval_request": "arguments name server_label",
            "mcp_approval_response": "approval_request_id approve reason",
            "mcp_call": "approval_request_id arguments error name output server_label",
            "program": "call_id code fingerprint",
            "program_output": "call_id result",
        }.items()
    }
)

_CALLS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "function_call": ("", "arguments"),
        "custom_tool_call": ("", "input"),
        "local_shell_call": ("local_shell", "action"),
        "shell_call": ("shell", "action"),
        "apply_patch_call": ("apply_patch", "operation"),
        "computer_call": ("computer", "action"),
        "tool_search_call": ("tool_search", "arguments"),
    }
)
"""Calls that the client may have to carry out: the tool's fixed name, the arguments' field."""

_SPOKEN = frozenset(_CALLS) | {
    "reasoning", "compaction", "item_reference", "web_search_call", "file_search_call",
    "code_interpreter_call", "image_generation_call", "mcp_list_tools", "mcp_approval_request",
    "mcp_call", "program", "program_output",
}  # fmt: skip
"""Output of the model's side. A reference stands for an item of an earlier output."""


def read_item(node: Opened, notes: Notes) -> None:
    """Note everything about one item."""
    kind = node.word("type") or _untyped(node)
    fields = _ITEMS.get(kind)
    if fields is None:
        _stranger(kind, node, notes)
        return
    members = notes.open(node, fields)
    notes.role = members.text("role").lower() or kind
    notes.spoken = kind in _SPOKEN or notes.role == "assistant"
    notes.origin = _origin(kind, notes.role)
    if kind == "message" and notes.origin is Origin.UNKNOWN:
        notes.unknown_role(members, node)
    notes.grants = kind in _GRANTS
    if kind in _CALLS:
        _call(kind, node, members, notes)
    elif (reader := _READERS.get(kind)) is not None:
        reader(kind, members, notes)
    notes.answers_by_role()
    output = members.get("output")
    if kind in _PLAIN and output is not None and _direct(members):
        notes.half(members.text("call_id"), node, output, Form.RESULT)


def _stranger(kind: str, node: Opened, notes: Notes) -> None:
    """An item of a kind that nobody knows: who speaks is all that is read of it. By its name, its
    role or a part of it, it may be a result, which continues a turn."""
    role, content = node.word("role").lower(), node.get("content")
    notes.unknown_at(node)
    notes.role = role or kind
    notes.spoken = role == "assistant"
    if content is not None and isinstance(content.value, list):
        for item in content.items():
            notes.unknown_part(item)
    if kind.endswith("_output") and not notes.spoken:
        notes.answers.append("")
    notes.answers_by_role()


def _direct(members: Fields) -> bool:
    """A call that a program of the vendor's side made means nothing without the program."""
    caller = members.get("caller")
    return caller is None or caller.value is None or caller.word("type") == "direct"


def _untyped(node: Opened) -> str:
    kind = node.get("type")
    if kind is not None and kind.value is not None:
        return ""
    if node.word("role"):
        return "message"
    given = node.get("id")
    return "item_reference" if given is not None and isinstance(given.value, str) else ""


def _origin(kind: str, role: str) -> Origin:
    if kind == "item_reference":
        return Origin.UNKNOWN
    if kind in _SPOKEN or role == "assistant":
        return Origin.AGENT
    if kind.endswith("_output"):
        return Origin.TOOL
    # SECURITY: nobody becomes the operator by a role that nobody knows.
    operator = role in ("system", "developer", "user") or kind in _OPERATORS
    return Origin.OPERATOR if operator else Origin.UNKNOWN


_OPERATORS = frozenset(
    {"additional_tools", "mcp_approval_response", "compaction_trigger", "configuration_update"}
)

_GRANTS = frozenset({"additional_tools", "configuration_update"})

_PLAIN: Mapping[str, Form] = MappingProxyType(
    {
        "function_call": Form.JSON,
        "custom_tool_call": Form.EMPTY,
        "function_call_output": Form.RESULT,
        "custom_tool_call_output": Form.RESULT,
    }
)
"""Calls and results that mean something without their content, and what comes in its place."""


def _call(kind: str, node: Opened, members: Fields, notes: Notes) -> None:
    name, field = _CALLS[kind]
    call = members.text("call_id") or members.text("id")
    given = members.get(field)
    name = name or qualified(members)
    notes.calls.append(ToolCall(call, name, json_text(given)))
    if kind in _PLAIN and given is not None and _direct(members):
        notes.half(call, node, given, _PLAIN[kind], name=name)


def _message(kind: str, members: Fields, notes: Notes) -> None:
    content = members.get("content")
    if content is None:
        return
    known = notes.origin is not Origin.UNKNOWN
    if isinstance(content.value, str):
        notes.says(content, content.text() if known else "")
        return
    for item in notes.list_of(content):
        part(item, notes)
        text = TEXTS.get(item.word("type"), "")
        if notes.says(item, item.word(text) if text and known else ""):
            # Annotations quote what the model was given.
            for name in ("annotations", "logprobs"):
                notes.aside(item.get(name))


def _tools(kind: str, members: Fields, notes: Notes) -> None:
    if kind == "additional_tools" and notes.role == kind:
        notes.role = "developer"  # the only role that it may have; older clients leave it out
    tool_names(members.get("tools"), notes)


def _approval(kind: str, members: Fields, notes: Notes) -> None:
    notes.answers.append(members.text("approval_request_id"))


HOME_REASONING: Final = "rs_home_"
"""How ids of reasoning begin that a model at home has done; no vendor would know it."""


def _encrypted(kind: str, members: Fields, notes: Notes) -> None:
    content = members.get("encrypted_content")
    if content is not None and content.text():
        notes.opaque_at(content)
        notes.sealed = kind == "reasoning"
    unknown = kind == "reasoning" and members.text("id").startswith(HOME_REASONING)
    if notes.sealed or unknown:
        notes.thoughts.append(())  # the item itself
    if unknown:
        notes.unsigned_at(())


def _picture(kind: str, members: Fields, notes: Notes) -> None:
    result = members.get("result")
    if result is not None and result.value is not None:
        notes.opaque_at(result)


def _reference(kind: str, members: Fields, notes: Notes) -> None:
    notes.lean(kind, members.text("id"))


_READERS: Mapping[str, Reader] = MappingProxyType(
    {
        **RESULTS,
        "message": _message,
        "additional_tools": _tools,
        "mcp_list_tools": _tools,
        "mcp_approval_response": _approval,
        "reasoning": _encrypted,
        "compaction": _encrypted,
        "image_generation_call": _picture,
        "item_reference": _reference,
    }
)
