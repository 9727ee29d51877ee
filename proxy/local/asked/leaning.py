"""What a request leans on that is kept elsewhere, so that no model at home could know it.

Owns the refusal. It must not know where in a body such things stand.
"""

from proxy.errors import Refused


def refuse_held(what: str) -> None:
    """`what`: the field by the schema's word. Raises `Refused("home-not-local")`."""
    raise Refused(
        "home-not-local",
        reason=f"it leans on `{what}`, which is kept elsewhere; send all of the conversation",
    )
