"""Reading one Anthropic message: which blocks there are, and where third-party text stands in them.

Owns the tables of known blocks and fields (wire.md 1.1.2; the SDK's request types) and the places
that may be framed. It must not know how a frame is written.

Framed are tool results and what a user attached as `document` or `search_result`. Never: text of
the operator or the model, thinking, blocks of server tools (they belong to the model's output and
go back unmodified), `tool_reference`, `browser_state`, images, ids.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from policies.conversation import Address, Form, Half, Origin, ToolCall
from proxy.dialects.facts import Found
from proxy.dialects.notes import Notes, json_text, words
from proxy.dialects.opened import Fields, Opened

MESSAGE_FIELDS = frozenset({"role", "content", "output_config", "clear_at"})

_BLOCKS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        kind: words(f"type cache_control {fields}")
        for kind, fields in {
            "text": "text citations",
            "image": "source transformations",
            "document": "source title context citations",
            "search_result": "source title content citations",
            "thinking": "thinking signature",
            "redacted_thinking": "data",
            "tool_use": "id name input caller toolset_name",
            "tool_result": "tool_use_id content is_error toolset_name",
            "tool_reference": "tool_name",
            "browser_state": "tabs state_changes",
            "server_tool_use": "id name input caller",
            "web_search_tool_result": "tool_use_id content caller",
            "web_fetch_tool_result": "tool_use_id content caller",
            "advisor_tool_result": "tool_use_id content",
            "code_execution_tool_result": "tool_use_id content",
            "bash_code_execution_tool_result": "tool_use_id content",
            "text_editor_code_execution_tool_result": "tool_use_id content",
            "tool_search_tool_result": "tool_use_id content",
            "mcp_tool_use": "id name input server_name",
            "mcp_tool_result": "tool_use_id content is_error",
            "mcp_tool_listing": "mcp_server_name tools",
            "container_upload": "file_id",
            "compaction": "content encrypted_content signature tool_changes",
            "tool_addition": "tool",
            "tool_removal": "tool",
            "fallback": "from to trigger",
        }.items()
    }
)

# A look at a member of an enumeration takes five times as long as one at a global.
_OPERATOR, _AGENT, _TOOL, _UNKNOWN = Origin.OPERATOR, Origin.AGENT, Origin.TOOL, Origin.UNKNOWN
_CALLED, _RESULT = Form.OBJECT, Form.RESULT
_TEXT, _RESULTS = _BLOCKS["text"], _BLOCKS["tool_result"]
_PLAIN_CALL = _BLOCKS["tool_use"] - {"caller"}

_IN_RESULT = frozenset(
    {"text", "image", "document", "search_result", "tool_reference", "browser_state"}
)


def read_message(node: Opened, notes: Notes) -> None:
    """Note everything about one message."""
    members = notes.open(node, MESSAGE_FIELDS)
    role = notes.role = members.text("role").lower()
    notes.spoken = role == "assistant"
    notes.between = role == "system"
    content = members.get("content")
    if content is not None:
        blocks = content.value
        if isinstance(blocks, list):
            _blocks(content, blocks, notes)
            notes.hollow = 0 < len(notes.thoughts) == len(blocks)
        elif isinstance(blocks, str):
            _said(content, blocks, notes)
        else:
            notes.unknown_at(content)
    notes.origin = _origin(notes)
    if notes.origin is _UNKNOWN and role != "system":
        notes.unknown_role(members, node)


def _origin(notes: Notes) -> Origin:
    """Whose words these are. A `system` message among the messages is no operator text for sure:
    clients put the text of mentioned files there (wire.md 0.2)."""
    if notes.spoken:
        return _AGENT
    if notes.answers:
        return _TOOL
    return _OPERATOR if notes.role == "user" else _UNKNOWN


def _blocks(content: Opened, blocks: Sequence[Any], notes: Notes) -> None:
    """All blocks. Those of text, calls, and results that are one string, are many, and read here
    where they have no members but known ones."""
    outer, spoken = content.way, notes.spoken
    for index, block in enumerate(blocks):
        kind = block.get("type") if type(block) is dict else ""
        if kind == "tool_result" and not spoken and _is_plain(block):
            _plain_result((*outer, index), block, notes)
        elif kind == "tool_use" and block.keys() <= _PLAIN_CALL and "input" in block:
            _plain_call(content.below((*outer, index, "input"), block["input"]), block, notes)
        elif kind == "text" and block.keys() <= _TEXT:
            _plain_text((*outer, index), block, notes)
        else:
            _block(content.item(index), notes)


def _plain_text(way: Address, block: Mapping[str, Any], notes: Notes) -> None:
    """What `_block` notes of a text."""
    text, speaks = block.get("text"), notes.role in ("user", "assistant")
    if not (speaks and isinstance(text, str) and text and not text.isspace()):
        notes.beside.append(way)
        return
    notes.texts.append(way)
    if block.get("citations"):
        # They quote what the model was given, and count from its beginning.
        notes.beside.append((*way, "citations"))


def _is_plain(result: Mapping[str, object]) -> bool:
    return isinstance(result.get("content"), str) and result.keys() <= _RESULTS


def _plain_result(way: Address, result: Mapping[str, Any], notes: Notes) -> None:
    """What `_block` notes of a result that is one string."""
    call, text, at = result.get("tool_use_id"), result["content"], (*way, "content")
    call = call if isinstance(call, str) else ""
    notes.beside.append(way)
    notes.halves.append(Half(call, "", way, way, at, _RESULT))
    notes.answers.append(call)
    notes.begin_result()
    if text:
        notes.found.append(Found(at, text, "", call))


def _plain_call(given: Opened, block: Mapping[str, Any], notes: Notes) -> None:
    """What `_block` notes of a call that no program has made and that is `given` something."""
    call, name, at = block.get("id"), block.get("name"), given.way
    call, name = call if isinstance(call, str) else "", name if isinstance(name, str) else ""
    way = at[:-1]
    notes.beside.append(way)
    notes.calls.append(ToolCall(call, name, json_text(given)))
    notes.halves.append(Half(call, name, way, way, at, _CALLED))


def _said(node: Opened, text: object, notes: Notes) -> bool:
    """Text of a system message counts as nobody's, see `_origin`."""
    return notes.says(node, text if notes.role in ("user", "assistant") else "")


def _block(node: Opened, notes: Notes) -> None:
    kind, members = node.block(_BLOCKS)
    if members is None:
        if kind not in _BLOCKS:
            notes.unknown_at(node)
            return
        members = notes.open(node, _BLOCKS[kind])
    if kind in ("tool_addition", "tool_removal"):
        notes.grants = True
    elif kind != "text":
        notes.beside.append(node.way)
    match kind:
        case "text":
            if _said(node, members.text("text"), notes):
                notes.aside(members.get("citations"))
        case "tool_use":
            _call(node, members, notes)
        case "tool_result" if not notes.spoken:
            call, content = members.text("tool_use_id"), members.get("content")
            notes.half(call, node, content, _RESULT)
            _result(call, content, notes)
        case "tool_result":
            notes.unknown_at(node)
        case "thinking":
            if members.text("signature"):
                notes.sealed = True
            else:
                notes.unsigned_at(node.way)
            notes.thought_at(node)
        case "redacted_thinking":
            notes.sealed = True
            notes.opaque_at(node)
            notes.thought_at(node)
        case "image":
            _image(node, members, notes)
        case "document" | "search_result" if not notes.spoken:
            notes.begin_result()
            title = members.text("title") or members.text("source")
            _attached(kind, members, notes, source=f"web:{title}")
        case "container_upload":
            notes.opaque_at(node)
            notes.held_if("file_id", members.get("file_id"))
        case "tool_addition":
            _added_tool(members.get("tool"), notes)
        case _:
            _sealed_parts(node, notes)


def _call(node: Opened, members: Fields, notes: Notes) -> None:
    call, name, given = members.text("id"), members.text("name"), members.get("input")
    notes.calls.append(ToolCall(call, name, json_text(given)))
    caller = members.get("caller")
    # A call that a program of the vendor's side made means nothing without the program.
    if given is not None and (caller is None or caller.word("type") == "direct"):
        notes.half(call, node, given, _CALLED, name=name)


def _result(call: str, content: Opened | None, notes: Notes) -> None:
    """A tool result: its string, or the text in its items."""
    notes.answers.append(call)
    notes.begin_result()
    if content is None or content.value is None:
        return
    if isinstance(content.value, str):
        notes.text(content, call=call)
        return
    for item in notes.list_of(content):
        kind = item.word("type")
        if kind not in ("text", "search_result"):
            notes.other(item)
        if kind not in _IN_RESULT:
            notes.unknown_at(item)
            continue
        inner = notes.open(item, _BLOCKS[kind])
        if kind == "text":
            _text(inner, notes, call=call)
        elif kind == "image":
            _image(item, inner, notes)
        elif kind in ("document", "search_result"):
            _attached(kind, inner, notes, call=call)


def _attached(kind: str, members: Fields, notes: Notes, call: str = "", source: str = "") -> None:
    """The text blocks of a `search_result`, or the text in the source of a `document`."""
    if kind == "search_result":
        _texts(members.get("content"), notes, call, source)
        return
    given = members.get("source")
    if given is None:
        return
    match given.word("type"):
        case "text" if (data := given.get("data")) is not None:
            notes.text(data, call=call, source=source)
        case "content":
            _texts(given.get("content"), notes, call, source)
        case "base64" | "url":
            notes.opaque_at(given)
        case "file":
            notes.opaque_at(given)
            notes.held_if("file_id", given.get("file_id"))
        case _:
            notes.unknown_at(given)


def _texts(content: Opened | None, notes: Notes, call: str, source: str) -> None:
    """A string, or a list of text and image blocks."""
    if content is not None and isinstance(content.value, str):
        notes.text(content, call=call, source=source)
        return
    for item in notes.list_of(content):
        match item.word("type"):
            case "text":
                _text(notes.open(item, _BLOCKS["text"]), notes, call=call, source=source)
            case "image":
                _image(item, notes.open(item, _BLOCKS["image"]), notes)
            case _:
                notes.unknown_at(item)


def _text(members: Fields, notes: Notes, call: str = "", source: str = "") -> None:
    if (text := members.get("text")) is not None:
        notes.text(text, call=call, source=source)


def _image(node: Opened, members: Fields, notes: Notes) -> None:
    notes.opaque_at(node)
    source = members.get("source")
    notes.held_if("file_id", source.get("file_id") if source is not None else None)


def _added_tool(tool: Opened | None, notes: Notes) -> None:
    definition = tool.get("definition") if tool is not None else None
    name = definition.word("name") if definition is not None else ""
    if name:
        notes.tools.append(name)


def _sealed_parts(node: Opened, notes: Notes) -> None:
    """Encrypted values of vendor-made blocks: on the block, in its content, in the items there."""
    content = node.get("content")
    for _, value in node.members():
        _encrypted(value, notes)
    if content is None:
        return
    for part in content.items() if isinstance(content.value, list) else (content,):
        for _, value in part.members():
            _encrypted(value, notes)


def _encrypted(node: Opened, notes: Notes) -> None:
    name = node.way[-1]
    if isinstance(name, str) and name.startswith("encrypted_") and node.value is not None:
        notes.opaque_at(node)
