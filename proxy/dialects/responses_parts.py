"""What items of a Responses `input` have in common: content parts, names in namespaces, tool lists.

It must not know which item it is asked for.
"""

from collections.abc import Mapping
from types import MappingProxyType

from proxy.dialects.notes import Notes, text_of, words
from proxy.lazyjson import Node

_PARTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        kind: words(f"type prompt_cache_breakpoint {fields}")
        for kind, fields in {
            "input_text": "text",
            "output_text": "text annotations logprobs",
            "refusal": "refusal",
            "input_image": "detail file_id image_url",
            "input_file": "detail file_data file_id file_url filename",
            "input_audio": "input_audio",
        }.items()
    }
)


def part(node: Node, notes: Notes) -> Node | None:
    """Note one content part; the text of an `input_text` part is returned."""
    kind = text_of(node.get("type"))
    fields = _PARTS.get(kind)
    if fields is None:
        notes.unknown_at(node)
        return None
    members = notes.open(node, fields)
    if kind in ("input_image", "input_file", "input_audio"):
        notes.opaque_at(node)
        notes.held_if("file_id", members.get("file_id"))
    return members.get("text") if kind == "input_text" else None


def qualified(members: Mapping[str, Node]) -> str:
    """The name of a call's tool, with its namespace where it has one."""
    # SECURITY: without its namespace a tool could borrow the trust of another of the same name.
    names = (text_of(members.get("namespace")), text_of(members.get("name")))
    return ".".join(filter(None, names))


def tool_names(node: Node | None, notes: Notes, prefix: str = "") -> None:
    """The names in a list of tools; those in a namespace as `namespace.name`."""
    for tool in notes.list_of(node):
        kind = text_of(tool.get("type"))
        name = text_of(tool.get("name"))
        if kind == "namespace":
            tool_names(tool.get("tools"), notes, f"{prefix}{name}." if name else prefix)
        elif name or kind:
            notes.tools.append(prefix + (name or kind))
