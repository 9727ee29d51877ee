"""What the top level of a body says by itself: which model is asked for.

Owns the reading of a body of which nothing more has to be known yet. It must not know a vendor, and
it opens nothing below the top.
"""

from collections.abc import Container, Sequence

from proxy.lazyjson import Document


def glance(
    document: Document, fields: Container[str] = (), names: Sequence[str] = ("model",)
) -> str:
    """The model, empty where none is named. `fields`: known members of the top; `names`: those that
    may name it, the first that does counts.

    Raises `Malformed` for a key there that differs only in case from a known one: some upstreams
    would read it in its place.
    """
    root = document.root
    for key in root.names():
        if key not in fields and (folded := key.casefold()) in fields:
            root.get(folded)  # SECURITY: raises; `{"Model": …}` must not pass for an unknown field
    # All are asked for, as asking is what refuses the same name in other letters.
    named = [root.get(name) for name in names]
    for node in named:
        if node is not None and (text := node.text()):
            return text
    return ""
