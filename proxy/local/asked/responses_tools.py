"""Lists of tools in Responses, at the top and inside the input (wire.md 1.3).

Owns which of them a model at home may have. It must not know who calls them.
"""

from proxy.local.asked.draft import Draft
from proxy.local.asked.shapes import Members, listed, members, word


def add_tools(given: object, draft: Draft, namespace: str = "") -> None:
    """Functions, tools of one string, and those in namespaces. All others are of a server, or have
    calls of their own kind, which no local model can write: left out."""
    for tool in map(members, listed(given)):
        kind, name = word(tool.get("type")), word(tool.get("name"))
        if kind == "namespace" and name and not namespace:
            add_tools(tool.get("tools"), draft, name)
        elif kind not in ("function", "custom") or not name:
            draft.tools.away.add(name or kind)
            draft.leave("tools")
        else:
            _add(kind, name, tool, draft, namespace)


def _add(kind: str, name: str, tool: Members, draft: Draft, namespace: str) -> None:
    told = word(tool.get("description"))
    if kind == "function":
        draft.tools.add(name, told, tool.get("parameters"), namespace=namespace)
    else:
        draft.tools.add_custom(name, told, tool.get("format"), namespace=namespace)


def names_of(given: object, namespace: str = "") -> list[str]:
    """The names in such a list, for the model."""
    found = list[str]()
    for tool in map(members, listed(given)):
        name = word(tool.get("name"))
        if word(tool.get("type")) == "namespace" and not namespace:
            found += names_of(tool.get("tools"), name)
        elif name:
            found.append(".".join(filter(None, (namespace, name))))
    return found
