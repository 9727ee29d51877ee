"""An independent reader of what leaves: whether it is the current turn, and what may stand before.

Owns the check of a plan: own idea of a turn, of who speaks, and of what is text alone. It shares
no code with the plan (`minimality`) and knows no dialect: it reads the shapes that all have, as
`prove` does. It must not repair anything.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

RESULT: Final = "[result left out by Transom: call the tool again if it is needed]"
"""All that may stand in place of what an earlier call found."""

AT_HOME: Final = "[An answer that was given at home is left out here.]"
"""All that may stand in place of what a model at home has said."""

_ITEMS = "input"
_LISTS = ("messages", _ITEMS)
_SYSTEM = frozenset({"system", "developer"})
_SPEAKERS = frozenset({"user", "assistant"}) | _SYSTEM
_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
_NOTES = "internal_chat_message_metadata_passthrough"
_SAID = _MARKS | {
    *("type", "id", "role", "content", "name", "status", "phase", "refusal", "output_config"),
    *("clear_at", _NOTES),
}
_ITEM = _MARKS | {
    *("type", "id", "role", "call_id", "name", "namespace", "status", "arguments", "input"),
    *("output", "caller", "async", "content", "tool_call_id", "tool_name", _NOTES),
}
_SPOKEN = {
    *("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call"),
    *("computer_call", "tool_search_call", "reasoning", "compaction", "item_reference"),
    *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
    *("mcp_list_tools", "mcp_approval_request", "mcp_call", "program", "program_output"),
}
_GRANTS = ("additional_tools", "configuration_update")
_CHANGES = ("tool_addition", "tool_removal")
_NOTICE: Final = re.compile(
    r"\[dropped history — [1-9][0-9]* earlier message\(s\) were dropped from this window at"
    r" iteration [1-9][0-9]* by the '(?:strict|dialogue)' window strategy\. "
    r"(?:Tool results are among them \([A-Za-z0-9_.:-]{1,48}(?:, [A-Za-z0-9_.:-]{1,48}){0,3}"
    r"(?:, …)?\) — call the tool again if you need its output; do not reconstruct ids or values"
    r" from memory\. )?Nothing was summarized: those turns are simply not being re-sent\."
    r" The client still holds them in its own history\.\]"
)

_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})


class NotMinimal(Exception):
    """More leaves than may. `place` is safe to show."""

    def __init__(self, place: str) -> None:
        super().__init__(f"not minimal: {place}")
        self.place = place


class Block(msgspec.Struct, gc=False):
    """The kind of one part of a message."""

    type: str = ""


Content = list[Block] | str | None
"""What a message holds, in one of the shapes that it should have."""
C = TypeVar("C", Content, msgspec.Raw)


class Head(msgspec.Struct, Generic[C], gc=False):
    """What of a message says who speaks."""

    type: str = ""
    role: str = ""
    execution: str | None = None
    content: C = cast("C", None)

    @property
    def kind(self) -> str:
        """Its type, or what one without a type is."""
        return self.type

    @property
    def spoken(self) -> bool:
        """Output of the model."""
        if self.kind == "tool_search_output":
            return self.execution != "client"
        return self.role.lower() == "assistant" or self.kind in _SPOKEN

    @property
    def answers(self) -> bool:
        """Holds a result."""
        if self.role.lower() in ("tool", "function"):
            return True
        kind = self.kind
        if kind.endswith("_output") or kind == "mcp_approval_response":
            return not self.spoken
        return _hold_result(self.content)

    @property
    def leads(self) -> bool:
        """May stand before a conversation."""
        return self.role.lower() in _SYSTEM or (not self.role and self.type == "additional_tools")


class Item(Head[C], Generic[C], gc=False):
    """The same of an item, which may be known by its id alone."""

    id: str | None = None

    @property
    def kind(self) -> str:
        return self.type or ("" if self.role or self.id is None else "item_reference")


Heads = Sequence[Head[Content] | Head[msgspec.Raw]]


def _hold_result(content: Content | msgspec.Raw) -> bool:
    """Whether there is a result among the parts of a message."""
    if isinstance(content, list):
        return any(block.type == "tool_result" for block in content)
    if not isinstance(content, msgspec.Raw) or not (raw := bytes(content)).startswith(b"["):
        return False
    # What a number says is none of our business, and it may have more digits than Python takes.
    blocks = json.loads(raw, parse_int=str)
    return any(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def heads(raw: bytes, key: str) -> Heads:
    """Those of the messages in the list that stands under `key`. Raises `ValueError` for what is no
    list of objects."""
    try:
        return _ITEMS_AS_EXPECTED(raw) if key == _ITEMS else _AS_EXPECTED(raw)
    except msgspec.DecodeError:  # what some of them hold has another shape
        return _ALL_ITEMS(raw) if key == _ITEMS else _ALL_HEADS(raw)


_AS_EXPECTED: Final = msgspec.json.Decoder(list[Head[Content]]).decode
_ITEMS_AS_EXPECTED: Final = msgspec.json.Decoder(list[Item[Content]]).decode
_ALL_HEADS: Final = msgspec.json.Decoder(list[Head[msgspec.Raw]]).decode
_ALL_ITEMS: Final = msgspec.json.Decoder(list[Item[msgspec.Raw]]).decode


def leading(found: Heads) -> int:
    """How many of them stand before the conversation."""
    return next((n for n, head in enumerate(found) if not head.leads), len(found))


def turn(found: Heads, *, whole: bool = True) -> int | None:
    """Where the newest run begins that answers no call and holds a message of the user; the end of
    the leading ones where there is none. Not `whole`: others stand before the first; None where
    they would have to be seen."""
    start = leading(found) if whole else 0
    stop = len(found)
    while stop > start:
        if found[stop - 1].spoken:
            stop -= 1
            continue
        begin = stop
        while begin > start and not found[begin - 1].spoken:
            begin -= 1
        if begin == 0 and not whole:
            return None
        run = found[begin:stop]
        if any(h.role.lower() == "user" for h in run) and not any(h.answers for h in run):
            return begin
        stop = begin
    return start if whole else None


def is_notice(text: str) -> bool:
    """Whether `text` is what a model is told of dropped turns, and nothing else."""
    return _NOTICE.fullmatch(text) is not None


def is_left_at_home(message: object) -> bool:
    """Whether a message says that an answer is left out, and nothing else."""
    return message == {"role": "assistant", "content": AT_HOME}


def may_stay(message: object, mode: str, *, elides: bool) -> bool:
    """Whether a message of an earlier turn may leave as `message`: what grants tools always, what
    operator and model say in `dialogue`, and pairs that were emptied where one `elides`."""
    if not isinstance(message, Mapping):
        return False
    if message.get("type") in _GRANTS or _changes_tools(message):
        return True
    if elides and _emptied_item(message):
        return True
    kind = message.get("type")
    if not _speaks(message) or kind not in (None, "message"):
        return False
    # SECURITY: what is not known to be the text of who speaks is none.
    return all(
        mode == "dialogue" or not text.strip() if text is not None else elides and _emptied(part)
        for text, part in _with_parts(message)
    ) and all(
        key in _SAID or value in _NOTHING or (elides and _is_calls(key, value))
        for key, value in message.items()
    )


@dataclass(frozen=True, slots=True)
class Allowlist:
    """What may leave besides system text and tools. `texts`: what operator and model said before;
    `rest`: how many messages the current turn has."""

    mode: str
    elides: bool
    texts: Collection[str]
    rest: int


def allowlist(tree: Mapping[str, Any], mode: str, strategy: str = "drop") -> Allowlist:
    """What may leave of a client's body, read by itself."""
    key, listed = _listed(tree)
    found = heads(msgspec.json.encode(listed), key)
    start, begin = leading(found), turn(found) or 0
    texts: set[str] = set()
    if mode == "dialogue":
        earlier = (message for message in listed[start:begin] if _speaks(message))
        texts = {text for message in earlier for text in _words(message) if text}
    return Allowlist(mode, strategy == "elide", texts, len(listed) - begin)


def assert_turn_minimal(tree: Mapping[str, Any], allowlist: Allowlist) -> None:
    """Raise `NotMinimal` where the outbound body `tree` holds anything of earlier turns that is not
    in `allowlist`. Texts of ours behind results are not counted as messages of the turn."""
    key, listed = _listed(tree)
    found = heads(msgspec.json.encode(listed), key)
    start = leading(found)
    for index in range(start, max(start, len(listed) - allowlist.rest)):
        message, place = listed[index], f"messages[{index}]"
        if allowlist.mode == "off" or _is_notice_message(message) or is_left_at_home(message):
            continue
        if not may_stay(message, allowlist.mode, elides=allowlist.elides):
            raise NotMinimal(place)
        said = _with_parts(message) if _speaks(message) else ()
        if any(text and text not in allowlist.texts for text, _ in said):
            raise NotMinimal(place)


def _listed(tree: Mapping[str, Any]) -> tuple[str, Sequence[Any]]:
    """Where the messages stand, and they."""
    return next(((key, tree[key]) for key in _LISTS if isinstance(tree.get(key), list)), ("", ()))


def _speaks(message: Any) -> bool:
    return isinstance(message, Mapping) and str(message.get("role")).lower() in _SPEAKERS


def _is_notice_message(message: Any) -> bool:
    if not _speaks(message):
        return False
    texts = [text for text, _ in _with_parts(message)]
    return len(texts) == 1 and texts[0] is not None and is_notice(texts[0])


def _with_parts(message: Mapping[str, Any]) -> Iterator[tuple[str | None, Any]]:
    """What is said, part by part; None for what is no text."""
    content = message.get("content")
    if isinstance(content, str):
        yield content, content
    elif isinstance(content, list):
        for part in content:
            yield _text(part), part
    elif content is not None:
        yield None, content
    if isinstance(refusal := message.get("refusal"), str):
        yield refusal, refusal


def _words(message: Mapping[str, Any]) -> Iterator[str]:
    """The texts in what is said, whatever stands beside them, which does not leave with them."""
    for text, part in _with_parts(message):
        bare = text
        if text is None and isinstance(part, Mapping):
            bare = part.get(_PARTS.get(str(part.get("type")), ""))
        if isinstance(bare, str):
            yield bare


def _text(part: Any) -> str | None:
    if not isinstance(part, Mapping):
        return None
    field = _PARTS.get(str(part.get("type")))
    text = part.get(field) if field is not None else None
    more = (key for key in part if key not in ("type", field) and key not in _MARKS)
    if not isinstance(text, str) or any(part[key] not in _NOTHING for key in more):
        return None
    return text


def _changes_tools(message: Mapping[str, Any]) -> bool:
    content = message.get("content")
    return (
        str(message.get("role")).lower() in _SYSTEM
        and isinstance(content, list)
        and all(isinstance(part, Mapping) and part.get("type") in _CHANGES for part in content)
    )


def _is_calls(key: str, value: Any) -> bool:
    """Calls beside the content, all of them emptied."""
    return key == "tool_calls" and isinstance(value, list) and all(map(_emptied_call, value))


def _emptied_call(call: Any) -> bool:
    for kind, field in (("function", "arguments"), ("custom", "input")):
        if isinstance(call, Mapping) and isinstance(body := call.get(kind), Mapping):
            return body.get(field) in ("{}", "") or body.get(field) == {}
    return False


def _emptied(part: Any) -> bool:
    """A block that is a call or a result without its content."""
    match part:
        case {"type": "tool_use", "input": given}:
            return bool(given == {})
        case {"type": "tool_result"}:
            return part.get("content") in (None, RESULT)
        case _:
            return False


def _emptied_item(item: Mapping[str, Any]) -> bool:
    if not item.keys() <= _ITEM:
        return False
    match item:
        case {"type": "function_call", "arguments": given}:
            return bool(given == "{}")
        case {"type": "custom_tool_call", "input": given}:
            return bool(given == "")
        case {"type": "function_call_output" | "custom_tool_call_output", "output": found}:
            return bool(found == RESULT)
        case {"role": str(role), "content": found} if role.lower() == "tool":
            return bool(found == RESULT)
        case _:
            return False
