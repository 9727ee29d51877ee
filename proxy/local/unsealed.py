"""What an answer from home must not pretend to be: something that a vendor has signed or numbered.

Owns the marks by which a client's history tells later what a model at home thought, so that it is
left out before a cloud reads it, and ids of the kind that the cloud takes. It must not know who
answers. Sources: wire.md 1.1.6 and 1.3.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from proxy.dialects.responses_items import HOME_REASONING
from proxy.lazyjson import Edit, Member, Node, Remove, Replace, dump
from proxy.local.rewriting import Rewriting

_PREFIXES: Final = {
    "message": "msg_",
    "function_call": "fc_",
    "custom_tool_call": "ctc_",
    "reasoning": HOME_REASONING,
}

_WORDS: Final = ('"signature', '"id"', '"item_id"', '"reasoning')
_THOUGHTS: Final = ("reasoning", "reasoning_content", "reasoning_details")
"""Where servers of the Chat dialect put what a model thinks; OpenAI takes none of it back."""


class Unsealed(Rewriting):
    """A filter over the answer of a server that speaks the client's dialect: thoughts are unsigned,
    items have the ids of their kind; all else stays byte for byte."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def concerns(self, data: str) -> bool:
        return any(word in data for word in _WORDS)

    def edits(self, root: Node) -> Iterable[Edit] | None:
        """The value without a seal; an event that was nothing else goes."""
        if _is_seal(root):
            return None
        return [*_unsigned(root), *_unsaid(root), *self._named(root)]

    def _named(self, root: Node) -> Iterator[Edit]:
        """Ids of items, and what refers to them."""
        for item in _items(root):
            kind, own = item.get_text("type") or "", item.get("id")
            if kind == "reasoning" and (sealed := item.get("encrypted_content")) is not None:
                yield Replace(sealed.address, b"null")
            if (prefix := _PREFIXES.get(kind)) is None:
                continue
            if own is None:
                if kind == "reasoning":
                    yield Member(item.address, "id", dump(prefix))
            elif (name := own.text()) is not None and not name.startswith(prefix):
                self._ids[name] = f"{prefix}{name}"
                yield Replace(own.address, dump(self._ids[name]))
        about = root.get("item_id")
        if about is not None and (known := self._ids.get(about.text() or "")) is not None:
            yield Replace(about.address, dump(known))


def _is_seal(root: Node) -> bool:
    delta = root.get("delta")
    return (
        root.get_text("type") == "content_block_delta"
        and delta is not None
        and delta.get_text("type") == "signature_delta"
    )


def _unsigned(root: Node) -> Iterator[Edit]:
    """Blocks of thinking: the one that begins, or those of a whole message."""
    begun, content = root.get("content_block"), root.get("content")
    for block in (*_one(begun), *_all(content)):
        signature = block.get("signature") if block.get_text("type") == "thinking" else None
        if signature is not None and signature.text():
            yield Replace(signature.address, b'""')


def _unsaid(root: Node) -> Iterator[Edit]:
    """Thoughts in the choices of Chat."""
    for choice in _all(root.get("choices")):
        for holder in (choice.get("message"), choice.get("delta")):
            if holder is not None:
                told = filter(None, map(holder.get, _THOUGHTS))
                yield from (Remove(thought.address) for thought in told)


def _items(root: Node) -> Iterator[Node]:
    """Items of Responses: the one of an event, or those of a response."""
    yield from _one(root.get("item"))
    response = root.get("response")
    for holder in (root, response):
        if holder is not None and holder.get_text("object") == "response":
            yield from _all(holder.get("output"))


def _one(node: Node | None) -> Iterator[Node]:
    if node is not None:
        yield node


def _all(node: Node | None) -> Iterator[Node]:
    if node is not None:
        yield from node.items()
