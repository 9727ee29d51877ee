"""What items of a Responses `input` have in common: content parts, names in namespaces, tool lists.

It must not know which item it is asked for.
"""

from collections.abc import Mapping
from types import MappingProxyType

from proxy.dialects.notes import Notes, words
from proxy.dialects.opened import Fields, Opened

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


TEXTS: Mapping[str, str] = MappingProxyType(
    {"input_text": "text", "output_text": "text", "refusal": "refusal"}
)
"""Parts that are text, and the member that holds it. In a result `input_text` alone is legal;
servers that are less strict take the others too."""


def part(node: Opened, notes: Notes) -> Opened | None:
    """Note one content part; the text of a part that is text is returned."""
    kind = node.word("type")
    fields = _PARTS.get(kind)
    if fields is None:
        notes.unknown_part(node)
        return None
    members = notes.open(node, fields)
    if kind in ("input_image", "input_file", "input_audio"):
        notes.opaque_at(node)
        notes.held_if("file_id", members.get("file_id"))
    return members.get(TEXTS[kind]) if kind in TEXTS else None


def qualified(members: Fields) -> str:
    """The name of a call's tool, with its namespace where it has one."""
    # SECURITY: without its namespace a tool could borrow the trust of another of the same name.
    names = (members.text("namespace"), members.text("name"))
    return ".".join(filter(None, names))


def tool_names(node: Opened | None, notes: Notes, prefix: str = "") -> None:
    """The names in a list of tools; those in a namespace as `namespace.name`."""
    for tool in notes.list_of(node):
        kind = tool.word("type")
        name = tool.word("name")
        if kind == "namespace":
            tool_names(tool.get("tools"), notes, f"{prefix}{name}." if name else prefix)
        elif name or kind:
            notes.tools.append(prefix + (name or kind))
