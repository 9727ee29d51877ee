"""Do its tools stay at home: some that a request declares are carried out by the server, elsewhere.

Owns the list of those. It must not know an upstream or where in a body they matter otherwise.
Sources: Ollama's `middleware/anthropic.go` runs every tool whose type begins with `web_search`
against its cloud, with words that the model chose, also for a local model; a tool of type `mcp` and
an entry of `mcp_servers` name a server that is called by whoever answers.
"""

from typing import Final

from proxy.errors import Refused
from proxy.lazyjson import Document, Malformed, Node

_SEARCHES: Final = ("web_search", "web_fetch")


def check_tools(document: Document, dialect: str) -> None:
    """Raises `Refused("home-not-local")` where a model at home would be served by tools that lead
    off this node, `Refused("body-invalid")` where that cannot be told for certain."""
    try:
        away = any(_leads_away(tool, dialect) for tool in _listed(document, "tools"))
        away = away or bool(_listed(document, "mcp_servers"))
    except Malformed as wrong:
        raise Refused("body-invalid", reason=str(wrong)) from None
    if away:
        # SECURITY: a model at home has seen what must not leave, and writes what is searched for.
        raise Refused("home-not-local", reason="one of its tools is carried out elsewhere")


def _listed(document: Document, key: str) -> tuple[Node, ...]:
    listed = document.root.get(key)
    return () if listed is None else listed.items()


def _leads_away(tool: Node, dialect: str) -> bool:
    kind = (tool.get_text("type") or "").casefold()
    return kind == "mcp" or (dialect == "anthropic_messages" and kind.startswith(_SEARCHES))
