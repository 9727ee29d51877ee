"""The model that the client asked for, in answers of another one.

Owns where answers name their model. Clients choose settings by that name, and give up where it is
another (wire.md 5.3). It must not know who answers.
"""

from collections.abc import Iterable
from typing import Final

from proxy.lazyjson import Edit, Node, Replace, dump
from proxy.local.rewriting import Rewriting

_PLACES: Final = (("model",), ("message", "model"), ("response", "model"))


class Echo(Rewriting):
    """A filter that writes `model` over the name in each event; all else stays byte for byte."""

    def __init__(self, model: str) -> None:
        self._model = dump(model)

    def concerns(self, data: str) -> bool:
        return '"model"' in data

    def edits(self, root: Node) -> Iterable[Edit]:
        """The other name, wherever there is one."""
        return [Replace(way, self._model) for way in _PLACES if _is_text(root, way)]


def _is_text(node: Node, way: tuple[str, ...]) -> bool:
    for name in way:
        inner = node.get(name)
        if inner is None:
            return False
        node = inner
    return node.text() is not None
