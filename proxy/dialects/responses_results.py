"""Results in a Responses `input`: the outputs of calls that the client carried out.

Owns which strings of them are third-party text that may be framed (wire.md 1.3). It must not know
how a frame is written.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from policies.conversation import Address, Origin
from policies.envelope import field_name
from proxy.dialects.notes import Notes, words
from proxy.dialects.opened import Fields
from proxy.dialects.responses_parts import part, qualified, tool_names
from proxy.lazyjson import Kind, Malformed, Node, read

Reader = Callable[[str, Fields, Notes], None]
"""Notes one item, given its kind and members."""

MAX_LEAVES = 256
"""A JSON output with more string leaves than this is framed whole: no client wraps its shell's
output in that many fields, and each leaf would cost a frame and a row of the ledger."""


_ENTRY = words("stdout stderr outcome created_by")


def _answered(members: Fields, notes: Notes) -> str:
    call = members.text("call_id") or members.text("id")
    notes.answers.append(call)
    return call


def _output(kind: str, members: Fields, notes: Notes) -> None:
    """Output of a function, a custom tool or a patch: a string, or a list of parts."""
    call = _answered(members, notes)
    name = qualified(members) or ("apply_patch" if kind == "apply_patch_call_output" else "")
    output = members.get("output")
    if output is None or output.value is None:
        return
    if isinstance(output.value, str):
        notes.text(output, call=call, name=name)
        return
    for item in notes.list_of(output):
        text = part(item, notes)
        if text is None:
            notes.other(item)
        else:
            notes.text(text, call=call, name=name)


def _shell(kind: str, members: Fields, notes: Notes) -> None:
    call = _answered(members, notes)
    output = members.get("output")
    if output is not None and isinstance(output.value, str):
        notes.text(output, call=call, name="shell")
        return
    for entry in notes.list_of(output):
        streams = notes.open(entry, _ENTRY)
        for stream in (streams.get("stdout"), streams.get("stderr")):
            if stream is not None and stream.value is not None:
                notes.text(stream, call=call, name="shell")


def _local_shell(kind: str, members: Fields, notes: Notes) -> None:
    """A string, by convention JSON: then its string leaves, so that it stays parseable. Where a key
    could say something, it is what the shell printed and no client's wrapping: framed whole."""
    call = _answered(members, notes)
    output = members.get("output")
    if output is None or output.value is None:
        return
    leaves = _leaves(output.text() or "")
    if leaves is None:
        notes.text(output, call=call, name="local_shell")
        return
    for inner, text in leaves:
        notes.text(output, call=call, name="local_shell", text=text, inner=inner)


def _leaves(text: str) -> list[tuple[Address, str]] | None:
    """The string leaves of a JSON object whose keys are names, None for any other text."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        root = read(text.encode()).root
        # SECURITY: keys stand outside the frames of the leaves, so they must be mere names.
        if not all(field_name(key) == key for key in _keys(root)):
            return None
        leaves = list(_strings(root))
    except (Malformed, UnicodeEncodeError):
        return None
    return leaves if len(leaves) <= MAX_LEAVES else None


def _keys(node: Node) -> Iterator[str]:
    if node.kind is Kind.OBJECT:
        for key, value in node.members():
            yield key
            yield from _keys(value)
    elif node.kind is Kind.ARRAY:
        for item in node.items():
            yield from _keys(item)


def _strings(node: Node) -> Iterator[tuple[Address, str]]:
    if node.kind is Kind.STRING:
        yield node.address, node.text() or ""
    elif node.kind is Kind.OBJECT:
        for _, value in node.members():
            yield from _strings(value)
    elif node.kind is Kind.ARRAY:
        for item in node.items():
            yield from _strings(item)


def _screenshot(kind: str, members: Fields, notes: Notes) -> None:
    _answered(members, notes)
    output = members.get("output")
    if output is not None:
        notes.opaque_at(output)
        notes.other(output)
        notes.held_if("file_id", output.get("file_id"))


def _search(kind: str, members: Fields, notes: Notes) -> None:
    if members.text("execution") == "client":
        _answered(members, notes)
        notes.spoken = False
    else:
        notes.spoken, notes.origin = True, Origin.AGENT
    tool_names(members.get("tools"), notes)


RESULTS: Mapping[str, Reader] = MappingProxyType(
    {
        "function_call_output": _output,
        "custom_tool_call_output": _output,
        "apply_patch_call_output": _output,
        "shell_call_output": _shell,
        "local_shell_call_output": _local_shell,
        "computer_call_output": _screenshot,
        "tool_search_output": _search,
    }
)
