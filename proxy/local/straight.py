"""A local server that speaks the caller's dialect gets the request as it came, but for a few edits.

Owns the edits: the model, tools that a vendor's server carries out, members that only a vendor
understands. All else keeps its bytes. It must not know a server.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from proxy.errors import Refused
from proxy.lazyjson import Document, Edit, Malformed, Member, Node, Remove, Replace, dump, splice
from proxy.local.asked.leaning import refuse_held

_ONLY_VENDORS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "anthropic_messages": frozenset(
            {"betas", "billing_policy", "compaction", "container", "context_management",
             "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "mcp_servers",
             "service_tier", "speed", "thread", "user_profile_id", "workspace_id"}
        ),
        "openai_chat": frozenset(
            {"audio", "metadata", "modalities", "moderation", "prediction", "prompt_cache_key",
             "prompt_cache_options", "prompt_cache_retention", "safety_identifier",
             "service_tier", "store", "verbosity", "web_search_options"}
        ),
        "openai_responses": frozenset(
            {"access_programs", "background", "background_options", "client_metadata",
             "context_management", "moderation", "prompt_cache_key", "prompt_cache_options",
             "prompt_cache_retention", "safety_identifier", "service_tier", "store"}
        ),
        "ollama_chat": frozenset(),
    }
)  # fmt: skip

_CLIENTS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "anthropic_messages": frozenset({"", "custom"}),
        "openai_chat": frozenset({"", "function", "custom"}),
        "openai_responses": frozenset(
            {"function", "custom", "namespace", "local_shell", "shell", "apply_patch"}
        ),
        "ollama_chat": frozenset({"", "function"}),
    }
)
"""Types of tools that the client carries out itself."""

_HELD: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"openai_responses": ("previous_response_id", "conversation", "prompt")}
)
_LEANING: Final = ("file_id", "audio", "item_reference")
"""What a message may lean on, by the words of `Conversation.held`. Tools that do are a vendor's."""

_ANY: Final = {"any", "required"}
_DECLARING: Final = {"additional_tools", "tool_search_output"}
"""Items of Responses that bring tools."""
_NOTHING: Final = (b"null", b'""')


def straight(dialect: str, document: Document, model: str, held: Collection[str] = ()) -> bytes:
    """The body for a local server that speaks `dialect`, asking for `model`. `held`: what the
    request leans on, as its view tells.

    Raises `Refused`: "home-not-local" for a request that leans on what is kept elsewhere, or that
    only tools of the vendor's server could answer; "body-invalid"."""
    # A server that does not know it would answer without it, and nobody would be told.
    for what in _LEANING:
        if what in held:
            refuse_held(what)
    try:
        return splice(document, _edits(dialect, document, model))
    except Malformed as wrong:
        raise Refused("body-invalid", reason=str(wrong)) from None


def _edits(dialect: str, document: Document, model: str) -> list[Edit]:
    root = document.root
    _refuse(dialect, root)
    named = root.get("model")
    edits: list[Edit] = [
        Member((), "model", dump(model)) if named is None else Replace(named.address, dump(model))
    ]
    edits += (Remove((key,)) for key, _ in root.members() if key in _ONLY_VENDORS[dialect])
    away: set[str] = set()
    left = 0
    for tools in _lists(root, dialect):
        left += _stripped(tools, dialect, away, edits)
    choice = root.get("tool_choice")
    if choice is not None and away:
        forced = _words(choice)
        if not left and forced & (away | _ANY):
            # SECURITY: a tool of the vendor's server would carry words of this model to it.
            raise Refused("home-not-local", reason="one of its tools is carried out elsewhere")
        if not left or forced & away:
            edits.append(Remove(choice.address))
    return edits


def _refuse(dialect: str, root: Node) -> None:
    for key in _HELD.get(dialect, ()):
        held = root.get(key)
        if held is not None and held.raw not in _NOTHING:
            refuse_held(key)
    thread = root.get("thread") if dialect == "anthropic_messages" else None
    if thread is not None and thread.get_text("type") == "continue":
        refuse_held("thread")


def _lists(root: Node, dialect: str) -> Iterator[Node]:
    """Where tools are declared: at the top, inside the input of Responses, in a namespace."""
    for tools in _declared(root):
        yield tools
        stay = (tool for tool in tools.items() if _is_clients(tool, dialect))
        yield from filter(None, map(_inside, stay))


def _inside(tool: Node) -> Node | None:
    """The tools of a namespace."""
    return tool.get("tools") if tool.get_text("type") == "namespace" else None


def _declared(root: Node) -> Iterator[Node]:
    if (tools := root.get("tools")) is not None:
        yield tools
    given = root.get("input")
    for item in () if given is None else given.items():
        inner = item.get("tools") if item.get_text("type") in _DECLARING else None
        if inner is not None:
            yield inner


def _stripped(tools: Node, dialect: str, away: set[str], edits: list[Edit]) -> int:
    """How many tools stay of this list, namespaces aside; edits take the others out, their names
    join `away`."""
    gone = [tool for tool in tools.items() if not _is_clients(tool, dialect)]
    for tool in gone:
        away.update(filter(None, (tool.get_text("name"), tool.get_text("type"))))
    kept = [tool for tool in tools.items() if tool not in gone]
    if gone and not kept and len(tools.address) == 1:
        edits.append(Remove(tools.address))
    else:
        edits += (Remove(tool.address) for tool in gone)
    return sum(_inside(tool) is None for tool in kept)


def _is_clients(tool: Node, dialect: str) -> bool:
    kind = tool.get_text("type") or ""
    if dialect == "anthropic_messages" and tool.get("input_schema") is not None:
        return True
    # SECURITY: some local servers carry out what they know of these, against their own cloud.
    return kind in _CLIENTS[dialect]


def _words(choice: Node) -> set[str]:
    """What a choice names: a mode, a tool, the type of one."""
    words = choice.text(), choice.get_text("name"), choice.get_text("type")
    return {word for word in words if word}
