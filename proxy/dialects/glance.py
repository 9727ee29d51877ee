"""What the top level of a body says by itself: the model, and whether a stream is asked for.

Owns the reading of a body of which nothing more has to be known. It must not know a vendor, and it
opens nothing below the top.
"""

from collections.abc import Container

from policies.conversation import Conversation
from proxy.lazyjson import Document


def glance(
    document: Document, dialect: str, *, fields: Container[str] = (), streams: bool = False
) -> Conversation:
    """A conversation of which the top level alone is known: no messages, no pieces.

    `fields`: known members. `streams`: what an absent `stream` means. Raises `Malformed` for a key
    that differs only in case from a known one, which some upstreams would read in its place.
    """
    root = document.root
    for key, _ in root.members():
        if key not in fields and (folded := key.casefold()) in fields:
            root.get(folded)  # SECURITY: raises; `{"Model": …}` must not pass for an unknown field
    model, stream = root.get("model"), root.get("stream")
    if stream is not None and stream.raw != b"null":
        streams = stream.raw == b"true"
    name = model.text() if model is not None else None
    return Conversation(dialect, name or "", streams, (), (), 0, (), (), ())
