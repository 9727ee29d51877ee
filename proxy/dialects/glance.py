"""What the top level of a body says by itself: which model is asked for.

Owns the reading of a body of which nothing more has to be known yet. It must not know a vendor, and
it opens nothing below the top.
"""

from collections.abc import Container

from proxy.lazyjson import Document


def glance(document: Document, fields: Container[str] = ()) -> str:
    """The model, empty where none is named. `fields`: known members of the top.

    Raises `Malformed` for a key there that differs only in case from a known one: some upstreams
    would read it in its place.
    """
    root = document.root
    for key, _ in root.members():
        if key not in fields and (folded := key.casefold()) in fields:
            root.get(folded)  # SECURITY: raises; `{"Model": …}` must not pass for an unknown field
    model = root.get("model")
    return (model.text() if model is not None else None) or ""
