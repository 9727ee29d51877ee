"""What all verbs share that ask a running node: where it is, what it answers, how a verb ends.

Owns the exit codes and the words for a node that is not there. It must not know a verb.
"""

import os
from collections.abc import Mapping
from typing import Final

from proxy.saying import tell

FINE: Final = 0
NOT_FINE: Final = 1
WRONG: Final = 2
NO_NODE: Final = 3
INTERRUPTED: Final = 130


class NodeMissing(Exception):
    """No node answers; the message says where it was looked for."""


def ask_node(verb: str, seconds: float = 5.0, **facts: object) -> Mapping[str, object]:
    """The answer of the node of this user. Raises `NodeMissing`."""
    from proxy.config.sources import state_folder
    from proxy.control import NoNode, ask

    try:
        return ask(state_folder(os.environ), verb, seconds, **facts)
    except NoNode as error:
        raise NodeMissing(str(error)) from None


def fail(words: str, hint: str, code: int = WRONG) -> int:
    """Say what is wrong and the way out; returns the exit code."""
    tell(f"error: {words}\n\nhint: {hint}")
    return code
