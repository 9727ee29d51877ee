"""Do its tools stay at home: some that a request declares are carried out by the server, elsewhere.

Owns the list of those. It must not know an upstream or where in a body they matter otherwise.
Sources: Ollama's `middleware/anthropic.go` runs every tool whose type begins with `web_search`
against its cloud, with words that the model chose, also for a local model; a tool of type `mcp` and
an entry of `mcp_servers` name a server that is called by whoever answers.
"""

from typing import Final

from proxy.errors import Refused
from proxy.lazyjson import Document, Malformed, Node
from proxy.memory import Memory

_SEARCHES: Final = ("web_search", "web_fetch")
_HEAD: Final = 64  # bytes by which lists are told apart before all of them are compared

AtHome = Memory[tuple[str, int, bytes], bytes]
"""Lists of tools that stay at home, each by its dialect, its length and its beginning."""


def check_tools(document: Document, dialect: str, at_home: AtHome | None = None) -> None:
    """Raises `Refused("home-not-local")` where a model at home would be served by tools that lead
    off this node, `Refused("body-invalid")` where that cannot be told for certain.

    `at_home`: what was seen before. Clients declare the same tools with every turn."""
    try:
        away = _tools_lead_away(document.root.get("tools"), dialect, at_home)
        away = away or bool(_listed(document, "mcp_servers"))
    except Malformed as wrong:
        raise Refused("body-invalid", reason=str(wrong)) from None
    if away:
        # SECURITY: a model at home has seen what must not leave, and writes what is searched for.
        raise Refused("home-not-local", reason="one of its tools is carried out elsewhere")


def _tools_lead_away(listed: Node | None, dialect: str, at_home: AtHome | None) -> bool:
    if listed is None:
        return False
    raw = listed.raw
    key = dialect, len(raw), raw[:_HEAD]
    # SECURITY: all of it is compared; what begins alike may end with another tool.
    if at_home is not None and at_home.get(key) == raw:
        return False
    away = any(_leads_away(tool, dialect) for tool in listed.items())
    if at_home is not None and not away:
        at_home.renew(key, raw, len(raw))
    return away


def _listed(document: Document, key: str) -> tuple[Node, ...]:
    listed = document.root.get(key)
    return () if listed is None else listed.items()


def _leads_away(tool: Node, dialect: str) -> bool:
    kind = (tool.get_text("type") or "").casefold()
    return kind == "mcp" or (dialect == "anthropic_messages" and kind.startswith(_SEARCHES))
