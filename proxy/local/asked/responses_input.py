"""Items of a Responses `input`, as a model at home reads them (wire.md 1.3, 5.2).

Owns what becomes of each item. It must not know the rest of the request.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from proxy.errors import Refused
from proxy.local.asked import phrases
from proxy.local.asked.chat_parts import Parts
from proxy.local.asked.draft import Draft
from proxy.local.asked.leaning import refuse_held
from proxy.local.asked.responses_tools import names_of
from proxy.local.asked.shapes import Members, arguments, joined, listed, members, plain, word

_OWN_CALLS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "local_shell_call": ("local_shell", "action"),
        "shell_call": ("shell", "action"),
        "apply_patch_call": ("apply_patch", "operation"),
        "computer_call": ("computer", "action"),
        "tool_search_call": ("tool_search", "arguments"),
    }
)
"""Calls of tools with a fixed name, and the field of what they ask for."""

_LEFT: Final = frozenset(
    {"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call",
     "mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call", "program",
     "program_output"}
)  # fmt: skip
"""What the vendor's side made, or is told."""


def read_item(item: Members, draft: Draft) -> None:
    """The next item of the input."""
    kind = word(item.get("type")) or "message"
    if kind in _OWN_CALLS:
        name, field = _OWN_CALLS[kind]
        _made(item, name, members(plain(item.get(field))), draft)
    elif kind in _OUTPUTS:
        _output(kind, item, draft)
    elif kind in _READERS:
        _READERS[kind](item, draft)
    elif kind not in ("additional_tools", "configuration_update"):  # read before
        draft.leave(kind if kind in _LEFT else "*")


def _message(item: Members, draft: Draft) -> None:
    parts = Parts(draft)
    parts.content(item.get("content"))
    match word(item.get("role")).lower():
        case "system" | "developer":
            draft.system(parts.text)
        case "user":
            draft.user(parts.text, parts.images)
        case "assistant":
            draft.assistant(parts.text)
        case _:
            draft.leave("role")


def _function(item: Members, draft: Draft) -> None:
    text = word(item.get("arguments"))
    found = arguments(text)
    told = phrases.unread(text) if found is None else ""
    _made(item, word(item.get("name")), found or {}, draft, told)


def _custom(item: Members, draft: Draft) -> None:
    _made(item, word(item.get("name")), {"input": word(item.get("input"))}, draft)


def _made(
    item: Members, name: str, given: Mapping[str, object], draft: Draft, told: str = ""
) -> None:
    call = draft.call(_id(item), name, given, word(item.get("namespace")))
    draft.assistant(told, [call])


def _id(item: Members) -> str:
    return word(item.get("call_id")) or word(item.get("id"))


def _reasoning(item: Members, draft: Draft) -> None:
    """What a local model thought is not encrypted; what a vendor's did is for that vendor."""
    pieces = [*listed(item.get("content")), *listed(item.get("summary"))]
    said = joined(*(word(members(piece).get("text")) for piece in pieces))
    if item.get("encrypted_content") or not said:
        draft.leave("reasoning")
    else:
        draft.assistant("", thinking=said)


def _compaction(item: Members, draft: Draft) -> None:
    draft.leave("compaction")
    draft.user(phrases.COMPACTED)


def _trigger(item: Members, draft: Draft) -> None:
    """Words in place of the item that is asked for would be no summary to the client."""
    raise Refused("home-not-local", reason="it asks for a summary that only its vendor can seal")


def _reference(item: Members, draft: Draft) -> None:
    refuse_held("item_reference")


def _output(kind: str, item: Members, draft: Draft) -> None:
    parts, output = Parts(draft), item.get("output")
    match kind:
        case "shell_call_output":
            parts.content("\n".join(_shell(members(piece)) for piece in listed(output)))
        case "computer_call_output":
            parts.content([output])
        case "tool_search_output":
            parts.content(phrases.loaded(names_of(item.get("tools"))))
        case _:
            parts.content(output)
    failed = phrases.FAILED if item.get("status") == "failed" else ""
    said = "\n".join(filter(None, (failed, parts.text)))
    name, space = word(item.get("name")), word(item.get("namespace"))
    draft.result(_id(item), said, parts.images, tool=name, namespace=space)


def _shell(piece: Members) -> str:
    """What one command wrote, and how it ended."""
    outcome = members(piece.get("outcome"))
    code = outcome.get("exit_code")
    ended = phrases.exit_code(code) if isinstance(code, int) else ""
    if word(outcome.get("type")) == "timeout":
        ended = phrases.TIMED_OUT
    texts = word(piece.get("stdout")), word(piece.get("stderr")), ended
    return "\n".join(filter(None, texts))


_OUTPUTS: Final = frozenset(
    {"function_call_output", "custom_tool_call_output", "local_shell_call_output",
     "shell_call_output", "apply_patch_call_output", "computer_call_output", "tool_search_output"}
)  # fmt: skip

_READERS: Final[Mapping[str, Callable[[Members, Draft], None]]] = MappingProxyType(
    {
        "message": _message,
        "function_call": _function,
        "custom_tool_call": _custom,
        "reasoning": _reasoning,
        "compaction": _compaction,
        "compaction_trigger": _trigger,
        "item_reference": _reference,
    }
)
